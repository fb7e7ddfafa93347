"""Words that say nothing about a subject, in the languages that people write most here. Accents are taken off, as the
index does it. A word that means something in one of the other languages (`die`, `also`, `man`) is left out only where
it is far more often empty than not."""

from __future__ import annotations

_ENGLISH = """
    a about above after again all already also am an and any anybody anyone anything are around as at away back
    be because been before being between both but by came can cannot come could did do does doing done down each
    either else enough ever every everybody everyone everything few for from further gave get gets getting give
    gives given go goes going gone got had happen happens has have having he hello help her here hers herself
    hey hi him himself his how however i if in instead into is it its itself just keep kept kindly know known
    knows least less let lets like likely lot lots made make makes making many may maybe me mean means might
    mine more most much must my myself need needs neither never no nobody none nor not nothing now of off often
    oh ok okay on once one ones only onto or other others our ours ourselves out over own perhaps please put
    quite rather really said same say saying says see seem seems seen shall she should show simply since so some
    somebody someone something sometimes somewhere still such sure take taken takes taking tell tells than thank
    thanks that the their theirs them themselves then there these they thing things think thinks this those
    though through thus to together told too took toward towards tried try trying under until up upon us use
    used uses using very want wanted wants was way ways we well went were what whatever when where whether which
    while who whole whom whose why will with within without would yes yet you your yours yourself s t d m re ve
    ll don doesn didn isn aren wasn weren won wouldn shouldn couldn hasn haven hadn ain
"""
_GERMAN = """
    ab aber alle allem allen aller alles als alser am an ander andere anderen anderer auch auf aus bei beim bin
    bis bist bitte bitten brauche brauchen da dabei dadurch dafur dagegen daher damit dann daran darauf darf
    daruber das dass dazu dein deine dem den denn der des deshalb dich die dies diese diesem diesen dieser
    dieses dir doch dort du durch eher ein eine einem einen einer eines einige einmal er es etwa etwas euch euer
    fur gegen gibt gilt habe haben hat hatte hatten her hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren
    im immer in ins ist ja jede jedem jeden jeder jedes jemand jetzt kann kannst kein keine keinen konnen konnte
    lassen machen macht man mehr mein meine meinem meinen mich mir mit muss mussen nach nicht nichts noch nun
    nur ob oder ohne schon sehr sein seine seinem seinen seit sich sie sind so sobald soll sollen sollte sollten
    sondern sonst trotzdem uber um und uns unser unsere unserem unseren unter viel viele vom von vor wann war
    waren warum was weil welche welchem welchen welcher welches wenn wer werde werden wie wieder will wir wird
    wo wollen worden wurde wurden zu zum zur zwar zwischen
"""
_FRENCH = """
    ai aie au aucun aucune aujourd aussi autre autres aux avec avez avoir avons c ce cela ces cet cette ceux
    chaque chez comme comment d dans de depuis des dois doit donc du elle elles en encore entre est et etre eux
    faire fait faut font il ils j je jusqu l la le les leur leurs lors lui ma mais meme mes moi moins mon n ne
    ni nos notre nous on ont ou par parce pas peu peut peuvent plus pour pourquoi pouvez puis qu quand que quel
    quelle quelles quels qui quoi sa sans se ses si soit sommes son sont souvent sous sur ta tes toi ton
    toujours tous tout toute toutes tres trop tu un une va vais vos votre vous y
"""
_SPANISH = """
    a ahora al algo alguien algun alguna algunas alguno algunos ante antes aun aunque cada como con contra cual
    cuales cuando cuanto cuantos de debe debemos deben debo del desde donde dos el ella ellas ellos en entre era
    es esa ese eso esta estaba estan estar este esto estos fue ha haber hace hacer hacia han hasta hay la las le
    les lo los mas me mi mis muy nada ni no nos nosotros nuestra nuestras nuestro nuestros o otra otras otro
    otros para pero poco podemos por porque puede pueden puedo que quien quienes se sea ser si sin sino sobre
    solo somos son su sus tal tambien tanto te tenemos tener tengo tiene tienen toda todas todo todos tu tus un
    una unas uno unos usted y ya yo
"""
_ITALIAN = """
    ad ai al alla alle allo anche ancora avere ben bene che chi ci come con cosa cui da dal dalla dalle degli
    dei del della delle dello deve di dopo dove e ed essere fare fra gia gli ha hanno ho i il io la le lo loro
    ma mai mi mia mio molto ne negli nei nel nella nelle nessuno noi non nostra nostro o ogni per perche piu poi
    posso prima puo quale quali quando quanto quella quello questa queste questi questo sarebbe se sei senza si
    sia siamo sono sta su sua sue sugli sui sul sulla suo tra tu tutti tutto un una uno vi voi
"""
_DUTCH = """
    aan al alle als altijd bij dan dat de deze die dit doen door een en er geen haar had heb hebben heeft het
    hij hoe hun iets ik in is ja je jij jullie kan kunnen maar maken me meer men met mijn moet moeten na naar
    niet niets nog nu of om onder ons onze ook op over te tegen toch toen tot u uit uw van veel voor waar waarom
    wanneer want waren was wat we wel welke werd wij wil worden wordt zal ze zich zij zijn zo zonder zou
"""
_PORTUGUESE = """
    ainda ao aos apenas aquela aquele as ate cada com como da das de dela dele deles deve do dos e ela elas ele
    eles em entre era essa esse esta estao estar este eu fazer foi ha isso isto ja lhe mais mas me mesmo meu
    minha muito na nao nas nem no nos nossa nosso num numa o os ou para pela pelas pelo pelos podem pode por
    porque posso qual quando quanto que quem se sem ser seu seus so sua suas tambem te tem temos tenho ter um
    uma voce voces
"""
STOP_WORDS = frozenset(" ".join((_ENGLISH, _GERMAN, _FRENCH, _SPANISH, _ITALIAN, _DUTCH, _PORTUGUESE)).split())
