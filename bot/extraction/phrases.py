"""The forms in which people say what is worth remembering: patterns over one clause. English, common German. Pure."""

from __future__ import annotations

import re


def _form(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{each})" for each in alternatives), re.IGNORECASE)


LEAD = re.compile(
    r"^(?:(?:@\S+|open ?executive|executive|exec|hi|hello|hey|hallo|good (?:morning|afternoon|evening)"
    r"|guten (?:morgen|tag)"
    r"|moin|all|team|everyone|everybody|folks|zusammen|leute|ok(?:ay)?|so|well|right|alright|great|thanks"
    r"|thank you|danke"
    r"|yes|yep|ja|and|also|btw|by the way|fyi|for your information|just so you know|for the record|for reference"
    r"|heads[- ]up"
    r"|quick update|small update|update|status update|status|news|good news|bad news|reminder|note|info"
    r"|please note(?: that)?"
    r"|note that|remember(?: that| this)?|keep in mind that|important|just (?:to )?(?:confirm|say)|to confirm"
    r"|as (?:discussed"
    r"|agreed|you know)|zur info|übrigens|zur kenntnis|kurzes update|merke? dir(?:,)?(?: dass)?|bitte merken"
    r"|wichtig|also|und"
    r"|hinweis|notiz|one more thing|two things|first|second|secondly|finally|then|today|this morning|(?:after|in"
    r"|at|during"
    r"|following|nach) (?:the|today[’']s|yesterday[’']s|our|dem|der) [\w ]{3,30}?(?=,|\s(?:we|i|the (?:board|team)"
    r"|wir)\b)"
    r"|after [\w’' -]{3,40}?(?=,|\s(?:we|i|the (?:board|team)|wir)\b)|a (?:quick|short) (?:note|update)"
    r"|for (?:the )?(?:notes|minutes)"
    r")(?:\s*[,:!.–—-]+\s*|\s+(?=that\b)|\s+))+(?:that\s+|dass\s+)?",
    re.IGNORECASE,
)
"""What stands before the thing itself. As long as something is left; a lead without a mark needs a form after it."""

CORRECTION = re.compile(
    r"^(?:(?:and|but|oh|wait|hm+|hmm|ok(?:ay)?|so|aber|oh|moment|ach)[,.!]*\s+)*(?P<mark>"
    r"actually|correction|to correct (?:that|myself)|i (?:was|stand) (?:wrong|corrected)|my mistake|my bad"
    r"|sorry(?=\s*[,:;.!–—-])|(?:no|nope|nah)(?=\s*[,:;.!–—-]|"
    r"\s+(?:it|it[’']s|its|that|the|we|not|make|i)\b)"
    r"|change of plans?|changed? plans?|plans? changed|plan change|new plan|scratch that|scrap that|forget (?:that"
    r"|it)|on second thou"
    r"ghts?|i changed my mind|we changed our minds?|i(?:[’']ve| have) changed my mind|we(?:[’']ve"
    r"| have) changed our minds?"
    r"|i misspoke|(?:rather|instead|update|nein|stattdessen|halt|quatsch)(?=\s*[,:;.!–—-])|small correction"
    r"|korrektur|doch nicht"
    r"|planänderung|kleine korrektur|neuer plan|eigentlich|tatsächlich|ich habe mich (?:geirrt|vertan)|sorry,? falsch"
    r")\b\s*(?:[,:;.!–—-]+\s*|\s+(?=.))(?P<rest>.*)$",
    re.IGNORECASE | re.DOTALL,
)
WITHDRAWAL = re.compile(
    r"^(?:please\s+)?(?:forget|scrap|ignore|disregard|vergiss)\s+(?:what i said|my (?:point|remark|message"
    r"|decision)|was ich"
    r" gesagt habe)\s+(?:about|on|über|zu)\s+(?P<what>[^,.!?]{3,60})[.!]*$|"
    r"^(?:please\s+)?(?:scrap|scratch|forget|drop|cancel|ignore|disregard|strike|vergiss|streich\w*"
    r"|verwerf\w*)\s+(?:that|it|this"
    r"|the last (?:one|point|decision|message)|my last (?:message|point)|das|es)(?:\s+(?:please|again|bitte"
    r"|wieder))?\s*[.!]*$"
    r"|^(?:never ?mind|vergiss es|doch nicht)(?: that)?[.!]*$"
    r"|^(?:that|this|it) (?:is|was) (?:no longer (?:valid|true|the case|the plan)|wrong|off the table|obsolete"
    r"|void)[.!]*$"
    r"|^(?:das|es) (?:gilt nicht mehr|war falsch|stimmt nicht mehr|ist hinfällig)[.!]*$",
    re.IGNORECASE,
)
STILL_CORRECTION = re.compile(
    r"\b(?:instead|after all|rather than|no longer|not any ?more|anymore|now|meanwhile|has changed|changed to"
    r"|stattdessen|doch"
    r"|jetzt|nun|inzwischen|nicht mehr)\b",
    re.IGNORECASE,
)

_WHO = (
    r"(?:we|the (?:board|team|company|management|founders|leadership|partners|committee|shareholders)|management"
    r"|the board"
    r" and (?:i|we)|(?-i:[A-ZÄÖÜ])\w+ and i|i and (?-i:[A-ZÄÖÜ])\w+)"
)
_ADVERB = (
    r"(?:(?:just|now|finally|jointly|unanimously|together|officially|definitely|also|all|today|have|[’']ve|has|had)"
    r"\s+)*"
)
DECISION = _form(
    rf"^(?P<who>{_WHO}|i)(?:[’']ve)?\s+{_ADVERB}(?:decided|agreed|resolved|concluded|opted|voted|committed"
    rf"|made the decision|made"
    r" a decision|taken the decision|took the decision)\s*(?:today|yesterday|on \w+|in the \w+"
    r"|with \w+)?\s*(?:that|,|:)?"
    r"\s*(?P<rest>.+)$",
    rf"^(?P<who2>{_WHO}|i)(?:[’']ve)?\s+{_ADVERB}(?P<verb>chosen|chose|choose|picked|pick|selected|select|adopted"
    rf"|adopt|approved"
    r"|approve|settled on|settle on|opted for|opt for|rejected|reject|cancelled|canceled|dropped"
    r"|went with)\s+(?P<rest2>.+)$",
    r"^(?:final |our |the |my |board |today's )*(?:decision|resolution|beschluss|entscheidung)(?:\s+(?:from|of|on"
    r"|today|made|vom)"
    r"[\w .’']{0,25})?\s*(?:[:–—-]+|(?:is|was)(?: made)?(?: that| to)?\b|ist\b,?(?: dass)?)\s*(?P<rest3>.+)$",
    r"^(?:it(?:[’']s| is| was| has been)|that(?:[’']s| is)?)\s+(?:now |finally |officially )?(?:decided|settled"
    r"|agreed|final)\s*"
    r"(?:that|:|,|–|—|-)?\s*(?P<rest4>.+)$",
    r"^(?:decided|agreed|settled|beschlossen|entschieden)\s*(?::|–|—|-)?\s*(?P<rest5>.+)$",
    r"^(?P<who6>we)(?:[’']re| are)\s+(?:now |definitely |officially )?(?P<rest6>(?:going|moving|switching|changing"
    r"|sticking|staying) "
    r"(?:ahead )?(?:with|to|from) .+)$",
    r"^(?P<who7>we)(?:[’']ll| will| are going to|[’']re going to)\s+(?:now |definitely |officially "
    r"|instead )*(?P<rest7>(?:go(?: ahead)? "
    r"with|use|switch to|adopt|stick (?:with|to)|stay with|choose|pick|take) .+)$",
    r"^let[’']?s\s+(?:just )?(?P<rest8>(?:go(?: ahead)? with|use|stick (?:with|to)|stay with|take|pick|choose"
    r"|settle on|do|make it) "
    r".+)$",
    r"^(?P<rest9>going with .+)$",
    r"^(?P<who10>we)(?:[’']ll| will|[’']re going to| are going to| won[’']t| will not)\s+(?P<rest10>.+)$",
    r"^(?P<who11>we)(?:[’']re| are)\s+(?:now |not |no longer )*(?P<rest11>(?:moving|postponing|delaying|pushing"
    r"|cutting|raising|"
    r"increasing|lowering|closing|opening|hiring|stopping|ending|dropping|cancelling|canceling|launching|selling"
    r"|buying|pausing|"
    r"freezing|discontinuing|shutting down|expanding|renewing|extending) .+)$",
    r"^(?:from now on|going forward|effective immediately|with immediate effect|as of [\w .]{3,25}"
    r"|starting [\w .]{3,25}|ab (?:sofort|jetzt|"
    r"[\d]+\.[\w .]{2,15}))[,]?\s+(?P<rest12>(?:we|all|every|no|the|wir|alle|jede\w*|die|der|das|gilt) .+"
    r"|[\w -]+ (?:is|are|will|gelten) .+)$",
    r"^wir\s+(?:haben|hatten)\s+(?:uns\s+)?(?:heute\s+|gemeinsam\s+|gestern\s+|jetzt\s+"
    r"|endgültig\s+)*(?:(?:beschlossen|entschieden"
    r"|vereinbart|festgelegt)[,:]?\s*(?:dass|zu)?\s*(?P<rest13>.+)|(?P<rest14>.+?)\s+(?:beschlossen|entschieden"
    r"|vereinbart|gewählt"
    r"|festgelegt|genehmigt))\.?$",
    r"^wir\s+(?P<rest15>(?:nehmen|wählen|bleiben bei|wechseln|setzen auf|entscheiden uns für|verschieben"
    r"|stellen .+ ein|verwenden|nutzen"
    r" (?:künftig|ab)|werden .+|verkaufen|kaufen|schließen|eröffnen|erhöhen|senken|streichen|starten am"
    r"|launchen) .*)$",
    r"^es (?:ist|wurde) (?:beschlossen|entschieden|vereinbart)[,:]?\s*(?:dass|worden,? dass)?\s*(?P<rest16>.+)$",
    r"^nehmen wir\s+(?P<rest17>.+)$",
    r"^we\s+(?:now )?(?P<rest18>(?:go with|choose|pick|stick with|switch to|stay with) .+)$",
    r"^wir haben uns\s+(?:auf|für|gegen)\s+(?P<rest19>.+?)\s+(?:geeinigt|verständigt)\.?$",
)
NO_DECISION = re.compile(
    r"\b(?:haven[’']t|have not|has not|hasn[’']t|did not|didn[’']t|not yet|never|still (?:have to|need to)|need to"
    r"|have to|must|want"
    r" to|plan to|hope to|trying to|will|going to|to)\s+(?:\w+\s+)?(?:decide[d]?|agree[d]?|choose|chosen|made|make)\b"
    r"|\bnoch (?:nicht|keine)\b|\bdecide later\b|\bdecided (?:nothing|if|whether|anything)\b"
    r"|\bmüssen\b.*\bentscheiden\b"
    r"|\bagreed to (?:disagree|discuss|talk|meet|think)\b|\bagree with\b|\bfail(?:ed)? to\b",
    re.IGNORECASE,
)

SMALL_TALK = (
    r"(?:be|have|see|think|let you|get back|come back|keep you|try|hope|need|want|like|love|wait|miss|know|talk"
    r"|look into it|look at it"
    r"|check (?:it|that|this)?$|ask|tell|say|sleep|go (?:home|to bed|for|and)|eat|leave (?:now|at|early)"
    r"|join (?:you|later|in)|stop"
    r" here|stick around|remember|forget|understand|do (?:it|that|this)(?: now| later)?$|start by|explain"
    r"|do my best|read it|make sure"
    r"|take a (?:look|break)|call (?:you|back)|write (?:you|back)|ping|continue|answer|reply|find out|bet|assume)"
)
COMMITMENT = _form(
    r"^(?P<who>i|(?-i:[A-ZÄÖÜ])[\wäöüß’'-]+(?:\s(?-i:[A-ZÄÖÜ])[\wäöüß-]+)?(?: and (?-i:[A-ZÄÖÜ])[\w-]+)?)(?:[’']ll"
    r"| will|[’']m going to| am going to| is going"
    rf" to| are going to| shall)\s+(?:also |now |then |personally )*(?P<what>(?!not\b|{SMALL_TALK}\b).+)$",
    r"^(?P<who2>i|(?-i:[A-ZÄÖÜ])[\wäöüß-]+(?:\s(?-i:[A-ZÄÖÜ])[\wäöüß-]+)?)(?:[’']m| am| is)?\s+(?:now )?(?:own"
    r"|owns|owning|lead|leads|leading|"
    r"in charge of|responsible for|taking over|takes over|take over|taking care of|takes care of|handling|handles"
    r"|driving|drives|"
    r"heading|heads|working on|preparing|on the hook for|taking on|takes on)\s+(?P<what2>.+)$",
    r"^(?P<who3>i|(?-i:[A-ZÄÖÜ])[\wäöüß-]+)(?:[’']ve| have| has)?\s+(?:promised|committed|commits|commit|agreed"
    r"|agrees|volunteered|undertakes|"
    r"promises|promise)\s+to\s+(?P<what3>.+)$",
    r"^(?P<who4>(?-i:[A-ZÄÖÜ])[\wäöüß-]+|ich)\s+(?:kümmer(?:t|e)\s+(?:sich|mich))\s+(?P<what4>.*?\bum\s+.+)$",
    r"^(?P<who5>(?-i:[A-ZÄÖÜ])[\wäöüß-]+|ich)\s+(?:übernimmt|übernehme|leitet|leite|verantwortet|verantworte"
    r"|betreut|betreue|erledigt|erledige|"
    r"bereitet|bereite|schickt|schicke|liefert|liefere|schreibt|schreibe|erstellt|erstelle|organisiert|organisiere"
    r"|prüft|prüfe)\s+"
    r"(?P<what5>.+)$",
    r"^(?P<who6>(?-i:[A-ZÄÖÜ])[\wäöüß-]+|ich)\s+(?:wird|werde)\s+(?P<what6>.+)$",
    r"^(?P<who7>(?-i:[A-ZÄÖÜ])[\wäöüß-]+(?:\s(?-i:[A-ZÄÖÜ])[\wäöüß-]+)?)\s*(?::|->|→)\s*(?P<what7>[a-zäöü].+)$",
    r"^(?:owner|verantwortlich)(?:\s+(?:of|for|für)\s+(?P<what8>.+?))?\s*(?::|is"
    r"|ist)\s*(?P<who8>(?-i:[A-ZÄÖÜ])[\wäöüß-]+)\b.*$",
)
LABELLED = re.compile(
    r"^(?:new |neue[rs]? )?(?:initiative|project|programme|program|projekt|action item|action|todo|to-do|task|ai"
    r"|aufgabe|vorhaben"
    r"|commitment|next step"
    r"|nächster schritt)s?(?:\s+(?P<name>(?-i:[A-ZÄÖÜ])[\w-]+(?:\s(?-i:[A-ZÄÖÜ])[\w-]+)?))?\s*(?::|–|—"
    r"|-)\s*(?P<rest>.+)$",
    re.IGNORECASE,
)
STARTED = _form(
    r"^(?:we|i)(?:[’']re| are|[’']m| am|[’']ve| have)?\s+(?:now |just |officially |also )*(?:starting|launching"
    r"|kicking off|beginning|"
    r"running|setting up|building|working on|rolling out|started|kicked off|begun|set up|start|kick off|begin|run"
    r"|build)\s+"
    r"(?P<what>(?:a|an|the|our|work on|project|another|two|three)\s.+)$",
    r"^(?P<what2>(?:the |our )?(?:project|programme|program|initiative|projekt)\s+(?-i:[A-ZÄÖÜ])\w+.*?|(?:the "
    r"|our )?(?-i:[A-ZÄÖÜ])\w+\s+(?:project|programme|"
    r"program|initiative))\s+(?:starts|is starting|kicks off|is kicking off|begins|has started|has begun|startet"
    r"|beginnt|läuft)\b.*$",
    r"^wir\s+(?:starten|beginnen|bauen|lancieren|setzen)\s+(?:jetzt\s+|nun\s+)?(?P<what3>(?:ein|eine|einen|das|die"
    r"|den|mit)\s.+)$",
)

_DONE = (
    r"done|finished|complete|completed|live|shipped|delivered|launched|sent|signed|ready|published|closed"
    r"|wrapped up|out the door|through"
    r"|fertig|erledigt|abgeschlossen|geliefert|verschickt|unterschrieben|veröffentlicht|beendet|im ziel"
)
_BLOCKED = (
    r"blocked|stuck|on hold|paused|stalled|waiting (?:for|on)\b.*|blockiert|pausiert|auf eis|hängt(?: fest)?|gestoppt"
)
_DROPPED = (
    r"cancelled|canceled|dropped|off the table|dead|abandoned|scrapped|called off|stopped|discontinued|killed"
    r"|gestrichen|abgesagt|verworfen"
    r"|eingestellt|beerdigt"
)
_GOING = (
    r"back on track|under ?way|in progress|running|unblocked|resumed|moving again|started|on track|im gange"
    r"|gestartet|läuft(?: wieder)?"
    r"|wieder aufgenommen|angelaufen"
)
_STATES = rf"(?P<done>{_DONE})|(?P<blocked>{_BLOCKED})|(?P<dropped>{_DROPPED})|(?P<going>{_GOING})"
PROGRESS = re.compile(
    r"^(?P<what>.+?)\s+(?:is|are|was|were|has been|have been|got|ist|sind|wurde|wurden|[’']s)\s+(?:now |finally "
    r"|all |already |officially"
    rf" |currently |again |jetzt |nun |endlich |bereits |wieder )*(?:{_STATES})"
    r"(?P<tail>(?:\s+(?:now|today|yesterday|since|because|until|by|as of|as|due to|heute|seit|weil|bis|at last|on"
    r"|for|again|, )\b.*|[,;–—(].*)?)[.!]*$",
    re.IGNORECASE,
)
DUE = re.compile(
    r"^(?:the )?(?:deadline|due date) (?:for|of)\s+(?P<what>.+?)\s+(?:is(?: now)?|moves to|moved to|(?:was|is"
    r"|has been) (?:moved|extended|"
    r"postponed|pushed) to)\s+(?P<day>.+?)[.!]*$"
    r"|^(?P<what2>.+?)\s+(?:is|are)\s+(?:now\s+)?due\s+(?:on|by|until)?\s*(?P<day2>.+?)[.!]*$",
    re.IGNORECASE,
)
DID = re.compile(
    r"^(?:we|i|(?-i:[A-ZÄÖÜ])[\w-]+|wir|ich)(?:[’']ve| have| has| haben| habe| hat)?\s+(?:now |just |finally "
    r"|already |jetzt |gerade )*(?:"
    r"(?P<done>finished|completed|shipped|delivered|launched|sent|signed|published|closed|wrapped up)"
    r"|(?P<dropped>cancelled|canceled|dropped"
    r"|abandoned|scrapped|called off|stopped|killed)|(?P<blocked>paused|put on hold|halted)|(?P<going>resumed"
    r"|restarted|unblocked))\s+"
    r"(?P<what>.+?)[.!]*$"
    r"|^(?:wir|ich)\s+(?:haben|habe)\s+(?P<what2>.+?)\s+(?:(?P<done2>abgeschlossen|fertiggestellt|erledigt"
    r"|verschickt|geliefert"
    r"|unterschrieben)|(?P<dropped2>gestrichen|abgesagt|verworfen|eingestellt)|(?P<blocked2>pausiert"
    r"|gestoppt))[.!]*$",
    re.IGNORECASE,
)

PREFERENCE = _form(
    r"^i(?:[’']d| would)?\s+(?:really |strongly |generally |usually |always |much |personally "
    r"|now )*prefer\s+(?P<what>.+)$",
    r"^i(?:[’']d| would)\s+(?:really |much )*(?:rather|like (?:you|it|my|all|answers?|replies|reports?|updates?"
    r"|summar\w+|meetings?|the)\b|love"
    r"|appreciate)\s*(?P<what2>.*)$",
    r"^from now on,?\s+(?:i (?:want|prefer|need|would like)|i[’']d like|please)\s+(?P<what18>.+)$",
    r"^i\s+no longer\s+(?P<what16>(?:want|need|like) .+)$",
    r"^i(?:[’']d| would) like\s+(?P<what17>(?:a |the |my )?(?:weekly|daily|monthly|short|brief|detailed|fewer"
    r"|more) .+)$",
    r"^i\s+(?:really |generally |usually |always )*(?:like|love|hate|dislike|can[’']t stand|don[’']t like"
    r"|do not like|don[’']t want|do not want|"
    r"want you to|want|need you to)\s+(?P<what3>(?:my|all|answers?|replies|reports?|updates?|summar\w+|meetings?"
    r"|it when|when|to be|long|short|"
    r"bullet|emojis?|the|being|getting|you|you to|phone|calls?|detailed|figures|numbers|tables?|charts?).*)$",
    r"^(?:please|pls|kindly|bitte)[,]?\s+(?:do\s+)?(?:always|never|don[’']t ever|only ever|stets|immer|nie|niemals"
    r"|nur noch)\s+(?P<what4>.+)$",
    r"^(?:always|never|immer|nie(?:mals)?)\s+(?P<what5>.+?)(?:,?\s+(?:please|bitte))[.!]*$",
    r"^(?:please|pls|bitte)[,]?\s+(?P<what6>(?:keep|make|write|give|send|format|use|answer|reply|call me"
    r"|address me|don[’']t use|do not use|avoid"
    r"|skip|stop using|halte|schreib|antworte|nenn mich|verwende|sprich)\b.*\b(?:answers?|repl(?:y|ies)|responses?"
    r"|me|summar\w+|emojis?|in "
    r"(?:german|english|french|spanish)|short|brief|bullet points?|bullets|tables?|units?|euros?|concise|messages?"
    r"|updates?|antworten|kurz|"
    r"deutsch|englisch|stichpunkt\w*|formal|informal|du|sie|jargon|small talk)\b.*)$",
    r"^(?:please |pls |bitte )?(?P<what14>(?:call|address) me .+|nenn(?:e|t)? mich .+)$",
    r"^(?P<what15>(?:keep|make|write|give|send|format) .+?),?\s+(?:please|for me|bitte)[.!]*$",
    r"^my (?:preferred|favou?rite)\s+(?P<what7>.+)$",
    r"^(?:no|keine)\s+(?P<what8>(?:emojis?|bullet points?|jargon|small talk|calls?|meetings?"
    r"|anglizismen)\b.*(?:please|bitte|for me)?)[.!]*$",
    r"^(?:mir (?:ist|wäre|sind)\s+(?P<what9>.+?)\s+lieber\b.*|mir (?:ist|wäre|sind) lieber[,]?\s*(?P<what10>.+))$",
    r"^ich\s+(?:bevorzuge|mag|hätte|möchte|will|habe|hasse)\s+(?P<what11>.*\b(?:lieber|gern\w*|immer|nie|nicht"
    r"|keine|am liebsten|kurz\w*|"
    r"antworten|deutsch|englisch|termine|meetings?|berichte|stichpunkte|anrufe|bevorzug\w*).*)$",
    r"^ich bevorzuge\s+(?P<what12>.+)$",
    r"^(?:am liebsten|for me,?|für mich,?)\s+(?P<what13>.+)$",
)

FACT = re.compile(
    r"^(?P<subject>.{2,70}?)\s+(?P<copula>is now|is still|is currently|are now|are currently|is|are|was|were"
    r"|stands at|stand at|stays at|stays|remains at"
    r"|remains|costs|cost|amounts to|equals|comes to|totals|runs until|runs through|runs on|ends on|ends in|ends"
    r"|expires on|expires in|expires"
    r"|starts on|starts in|starts at|starts|begins on|begins in|begins|takes place on|takes place in|takes place"
    r"|happens on|lies at|sits at|went up to|goes up to|goes down to|is cut to|is raised to|gets|receives"
    r"|grew to|rose to|dropped to|fell to|went down to|increased to|decreased to|has grown to|has risen to"
    r"|has dropped to|has fallen to|moves to|moved to|"
    r"moved from|moves from|has moved to|has been moved to|was moved to|is moved to|shifts to|shifted to|slips to"
    r"|slipped to|changes to|changed to|has changed to|goes to|"
    r"is called|is named|will be|lives in|works in|works at|works from|works as|reports to|belongs to|has|have|"
    r"ist jetzt|ist nun|ist|sind|war|beträgt|betragen|liegt (?:jetzt |nun )?bei|liegen bei|kostet|kosten|heißt"
    r"|endet am|endet|läuft bis|startet am|startet|beginnt am|beginnt|"
    r"findet am|steigt auf|sinkt auf|wurde auf|verschiebt sich auf|verschiebt sich von|bleibt bei|bleibt|sitzt in"
    r"|wechselt auf|gilt)\s+(?P<predicate>.+?)[.!]*$",
    re.IGNORECASE,
)
LABEL = re.compile(r"^(?P<subject>[^\W\d_][\w’'&/ -]{1,45}?)\s*(?::|=|→|->)\s*(?P<predicate>\S.{0,160}?)[.!]*$")
WE_HAVE = re.compile(
    r"^(?:we|our company|wir)(?:[’']re)?\s*(?:now |currently |jetzt |aktuell |derzeit )?(?:have|[’']ve got|employ"
    r"|count|serve"
    r"|haben|beschäftigen|are(?= (?:now |currently |about )?\w+ (?:people|employees))|sind(?= (?:jetzt "
    r"|nun )?\w+ (?:leute"
    r"|mitarbeiter)))\s+(?:now |currently |about |around |roughly |jetzt |rund |etwa )?(?P<predicate>"
    r"(?P<count>\d[\d.,]*\s*(?:k|m|million|thousand)?|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn)\s+(?P<subject>[^\W\d_][\w -]{2,40}?))"
    r"(?:\s+(?:left|now|today|at the moment|in total|as of .+|since .+|in cash|on board|übrig))?[.!]*$",
    re.IGNORECASE,
)
WE_USE = re.compile(
    r"^(?:we|wir)\s+(?:now |currently |always |jetzt )?(?:use|run|work with|nutzen|verwenden)\s+"
    r"(?P<what>.+? (?:for|as|für|als) .+?)[.!]*$",
    re.IGNORECASE,
)
VAGUE_SUBJECT = re.compile(
    r"^(?:it|this|that|there|here|he|she|they|you|i|we|what|which|who|these|those|everything|nothing|something"
    r"|everyone|nobody|someone|all|most|some|many|one|mine|"
    r"yours|es|das(?!\s+\w)|dies|er|sie|ich|wir|ihr|du|hier|dort|da|alles|nichts|man|wer"
    r"|was)\b(?!\s+[A-ZÄÖÜ\w-]+\s+(?:budget|deadline))",
    re.IGNORECASE,
)
VAGUE_PREDICATE = re.compile(
    r"^(?:(?:very|really|so|quite|pretty|too|rather|a bit|a little|not|still|just|also|always|never|sehr|ziemlich"
    r"|echt|zu|nicht|noch)\s+)*(?:good|great|nice|bad|fine|"
    r"ok(?:ay)?|awesome|amazing|terrible|awful|hard|easy|difficult|tough|important|interesting|boring|fun|funny"
    r"|weird|strange|clear|unclear|obvious|true|false|right|"
    r"wrong|cool|happy|sad|tired|busy|late|early|sick|here|there|back|sure|glad|sorry|worried|excited|curious"
    r"|crazy|lovely|beautiful|useful|helpful|useless|possible|"
    r"impossible|necessary|likely|unlikely|big|small|huge|high|low|long|short|fast|slow|cheap|expensive|better"
    r"|worse|best|worst|a (?:good|great|bad|nice|big|real|huge|"
    r"mess|shame|pity|problem|question|joke|pain|lot|mistake|risk|challenge|success|disaster|must)\b.*|gut"
    r"|schlecht|schön|toll|super|wichtig|schwer|leicht|klar|richtig|"
    r"falsch|müde|krank|spät|teuer|billig|ein (?:problem|fehler|risiko)\b.*|going\b.*|coming\b.*|trying\b.*"
    r"|looking\b.*|waiting\b.*|asking\b.*|doing\b.*|getting\b.*|"
    r"about to\b.*|supposed to\b.*|able to\b.*|like\b.*|why\b.*|how\b.*|what\b.*|where\b.*|because\b.*"
    r"|to\b(?! \d).*)(?:\b.*)?$",
    re.IGNORECASE,
)
ADVICE = _form(
    r"^i(?:[’']d| would)?\s+(?:strongly |also |therefore )*(?:advise|recommend|suggest|propose|counsel|urge)\b.+$",
    r"^my (?:advice|recommendation|suggestion)\b.+$",
    r"^(?:recommendation|advice|empfehlung|rat)\s*:\s*.+$",
    r"^ich (?:empfehle|rate|schlage vor|würde (?:empfehlen|raten|vorschlagen))\b.+$",
    r"^meine empfehlung\b.+$",
)


def group(match: re.Match[str], name: str) -> str:
    """Of groups that are told apart only by their number: the one that matched."""
    for found, value in match.groupdict().items():
        if value is not None and found.rstrip("0123456789") == name:
            return value
    return ""
