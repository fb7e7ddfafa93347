"""Sentences as people of a company write them, and what of them is worth remembering, labelled by hand.

A label is a kind, or `-` for nothing; after it, where it matters, the subject key. `TUNED` was looked at while the
rules were written, `HELD_OUT` was not.
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.memory.model import Kind


@dataclass(frozen=True, slots=True)
class Labelled:
    text: str
    kind: Kind | None
    subject: str | None


def _read(lines: str) -> list[Labelled]:
    found = []
    for line in lines.strip().splitlines():
        label, _, text = line.strip().partition(" | ")
        kind, _, subject = label.partition(" ")
        found.append(Labelled(text, None if kind == "-" else Kind(kind), subject.strip() or None))
    return found


TUNED = _read("""
decision | We decided to hire two engineers in Berlin.
decision | We have decided to postpone the office move.
decision | After the board call we decided that the price of the Pro plan is 49 euros.
decision pro plan/price | We decided to raise the price of the Pro plan to 59 euros.
decision company/launch date | We decided to launch in March.
decision company/launch date | Decision: we launch on 3 March 2027.
decision | Decision: no discounts for resellers this year.
decision hosting/choice | We will go with Hetzner for hosting.
decision hosting/choice | Let's go with Scaleway for hosting.
decision ledger/choice | We are going with Postgres for the ledger.
decision company/payment provider | We choose Stripe as our payment provider.
decision | The board approved the budget for 2027.
decision | The team agreed to freeze hiring until June.
decision | We've agreed that support closes at 18:00.
decision | Agreed: the offsite is in Lisbon.
decision | It's settled: we rent the office on Main Street.
decision | Final decision: we drop the hardware line.
decision | We won't attend the fair in Hannover this year.
decision | We will not sell to government agencies.
decision company/office | We are moving the office to Munich.
decision company/launch date | We are postponing the launch to May.
decision | From now on we invoice monthly.
decision | As of 1 January all contracts are signed digitally.
decision | We'll use Figma for design work.
decision | I have decided to close the Vienna branch.
decision | The founders decided against a bridge round.
decision | We opted for a four-day week.
decision | FYI, we decided to cancel the agency contract.
decision | Quick update: the board decided to open a second site in Graz.
decision | Wir haben beschlossen, den Preis auf 49 Euro zu erhöhen.
decision | Wir haben uns für Hetzner entschieden.
decision | Entscheidung: wir starten im März.
decision | Wir haben entschieden, keine Rabatte mehr zu geben.
decision | Es wurde beschlossen, dass wir zwei Entwickler einstellen.
decision | Ab sofort gilt die neue Reiserichtlinie.
decision | Wir verschieben den Launch auf Mai.
initiative | Maria will send the investor deck by Friday.
initiative | Jonas will prepare the hiring plan by the end of the month.
initiative | I will draft the press release by Tuesday.
initiative | I'll send the contract to Anna by tomorrow.
initiative | I'll take care of the visa paperwork by next week.
initiative | Maria owns the website relaunch.
initiative | Jonas is responsible for the SOC 2 audit.
initiative | Jonas leads the hiring of two engineers.
initiative | I am taking over the onboarding of Contoso.
initiative | We are starting a referral programme in April.
initiative | We're launching a pilot with the city of Graz.
initiative | We are building a new onboarding flow.
initiative | We have kicked off the data migration project.
initiative kestrel/project | Project Kestrel: rebuild the billing by 30 June.
initiative kestrel/project | We are starting project Kestrel.
initiative | Initiative: cut churn to 3 percent by June.
initiative | Action item: Jonas will call the landlord by Wednesday.
initiative | TODO: Maria reviews the lease by Monday.
initiative | New initiative: a customer advisory board, led by Maria.
initiative | Jonas has promised to deliver the forecast by 15 November.
initiative | Maria is going to interview five customers by the end of next week.
initiative | Please note that Jonas will organise the offsite by 1 May.
initiative | Maria kümmert sich bis Freitag um das Angebot.
initiative | Jonas übernimmt die Vorbereitung der Messe.
initiative | Ich schicke den Vertrag bis morgen.
initiative | Ich kümmere mich bis Montag um die Unterlagen.
initiative | Wir starten ein Empfehlungsprogramm.
initiative | Jonas bereitet bis Ende des Monats den Hiring-Plan vor.
preference marta/answers | I prefer short answers.
preference marta/answers | I prefer bullet points over long text.
preference marta/answers | I'd prefer detailed answers with numbers.
preference marta/meetings | I prefer meetings in the morning.
preference marta/channel | I prefer email over phone calls.
preference marta/language | Please always answer in English.
preference marta/emojis | Please never use emojis.
preference marta/units | Please always use metric units.
preference marta/answers | I like my answers short and to the point.
preference marta/meetings | I don't like calls before ten.
preference marta/address | Please call me Marta, not Ms Keller.
preference marta/reports | I'd like the weekly report as a table.
preference marta/meetings | I would rather have meetings on Tuesdays.
preference | My preferred airline is Lufthansa.
preference marta/emojis | No emojis please.
preference marta/answers | Keep answers short, please.
preference marta/answers | Please keep your replies brief.
preference | Mir ist Tee lieber als Kaffee.
preference marta/answers | Mir sind kurze Antworten lieber.
preference marta/language | Bitte immer auf Deutsch antworten.
preference marta/answers | Ich bevorzuge Stichpunkte.
preference marta/meetings | Ich hätte Termine gern am Vormittag.
fact company/runway | Our runway is 14 months.
fact aurora/budget | The budget for Aurora is 20k.
fact aurora/budget | Aurora's budget is now 25k.
fact aurora/budget | The Aurora budget is 25,000 euros.
fact company/budget | Budget: 20k
fact aurora/budget | Budget for Aurora: 20k
fact company/headcount | Our headcount is 34.
fact company/headcount | We have 34 employees.
fact company/cfo | Our CFO is Jonas Weber.
fact company/cfo | Jonas Weber is our CFO.
fact aurora/lead | Maria is the lead for Aurora.
fact company/launch date | The launch date is 3 March.
fact company/launch date | The launch is on 3 March.
fact aurora/launch date | The Aurora launch is on 3 March.
fact company/office | Our office is in Berlin.
fact company/revenue | Our revenue was 1.2 million euros last year.
fact company/burn rate | Our burn rate is 80k a month.
fact pro plan/price | The price of the Pro plan is 49 euros.
fact | Our biggest competitor is Contoso.
fact | The lease ends on 31 December 2027.
fact | Contoso's contract runs until June.
fact | Our main customers are hospitals.
fact | The wifi in the meeting room is called Otter.
fact | The API is written in Go.
fact | The support hours are 9 to 17.
fact | Maria works in finance.
fact | Jonas lives in Graz.
fact | The retreat takes place on 12 May in Lisbon.
fact | The Pro plan costs 49 euros a month.
fact | Our churn dropped to 2.1 percent.
fact | For the record, our fiscal year starts in July.
fact | Remember that our tax adviser is Huber & Partner.
fact | Just so you know, the rent is 4,200 euros.
fact support/choice | We use Zendesk for support.
fact company/runway | Unser Runway beträgt 14 Monate.
fact aurora/budget | Das Budget für Aurora beträgt 20k.
fact | Unser Hauptkunde ist die Stadt Wien.
fact | Die Miete liegt bei 4200 Euro.
fact | Unser Büro ist in Graz.
fact | Das Jahresgespräch ist am 3. März.
decision offsite/choice | Hi team, quick one: we've settled on Lisbon for the offsite in May.
decision payments/choice | We go with Stripe for payments.
decision payments/choice | We dropped Stripe and will use Adyen for payments.
decision | Wir haben uns auf Lissabon geeinigt.
initiative | Jonas is taking over the Contoso account.
preference marta/address | Please address me formally.
preference marta/reports | I'd like weekly reports on Mondays.
preference marta/reports | I no longer want weekly reports.
fact company/runway | The runway is down to 12 months.
fact company/runway | We have 14 months of runway.
fact company/headcount | We are now 36 people.
fact company/main competitor | Fabrikam is no longer our main competitor, Northwind is.
fact company/tender deadline | The tender deadline was extended to 30 November.
fact aurora/launch date | Launch of Aurora slips to 10 April.
decision | After some back and forth we decided to keep the four-day week.
decision | The founders agreed on a salary freeze until summer.
decision | We've decided against opening an office in Zurich.
decision | Let's stick with the current CRM.
decision | Decision from today's board: we sell the Graz site.
decision | We'll switch to Linear for issue tracking.
decision | We won't renew the Oracle licence.
decision | Going forward, invoices are sent on the first of the month.
decision | Wir haben heute entschieden, das Büro in Linz zu schließen.
decision | Entschieden: der Messestand wird verkleinert.
initiative | Lena will draft the privacy policy by 3 December.
initiative | I'll prepare the Q4 forecast by Monday.
initiative | Tom is leading the ISO certification.
initiative | We're kicking off a customer survey next week.
initiative | Initiative: reduce support tickets by a third.
initiative | Todo: Jonas orders the new laptops by Friday.
initiative | Anna übernimmt das Onboarding der neuen Kollegen.
preference | I prefer to be called in the afternoon.
preference | Please always include a summary at the top.
preference | I don't want phone calls.
preference | I'd rather read tables than prose.
preference | Bitte antworte mir immer in Stichpunkten.
fact | Our cash balance is 2.3 million euros.
fact | The new office is on Hauptplatz 4.
fact | Our customer count is 212.
fact | Contoso is our biggest customer.
fact | The Enterprise plan costs 499 euros a month.
fact | The audit takes place in February.
fact | Our VP of Sales is Lena Hofer.
fact | Churn rate: 2.4%
fact | We have 212 customers.
fact | The warranty period is 24 months.
fact | Unsere Kündigungsfrist beträgt drei Monate.
fact | Das Sommerfest ist am 12. Juni.
- | Is the office in Linz still open?
- | Can we afford a second site?
- | I'm wondering if we should sell the Graz site.
- | Lena says the audit takes place in March.
- | It might rain on Friday.
- | Nice work on the tender!
- | Could you send me the forecast?
- | Please find attached the slides.
- | Let me think about it until tomorrow.
- | We were going to close Linz but nothing is decided.
- | What would happen if we raised prices?
- | I heard the warranty is 36 months.
- | Thanks for the update, talk soon.
- | The presentation went really well.
- | How many customers do we have?
- | Vielleicht verkaufen wir Graz.
- | Gibt es Neuigkeiten vom Audit?
- | Tom meinte, wir hätten 300 Kunden.
- | Should we hire two engineers?
- | What is our runway?
- | Did we decide on the price?
- | Have we decided to launch in March?
- | We should hire two engineers.
- | Maybe we will launch in March.
- | Perhaps the budget for Aurora is 20k.
- | If we raise the price to 59, churn will go up.
- | If the runway is 14 months we can wait.
- | What if we launch in May?
- | We could go with Hetzner.
- | We might move the office to Munich.
- | I think we should cancel the agency contract.
- | I think the budget is 20k.
- | We haven't decided on the price yet.
- | We still have to decide where the offsite is.
- | No decision on the office yet.
- | We need to decide on hosting by Friday.
- | We are thinking about a second office.
- | We are considering a bridge round.
- | Jonas said the budget is 30k.
- | Jonas says we decided to launch in May.
- | According to Maria, our runway is 9 months.
- | Apparently the lease ends in June.
- | I heard that Contoso was bought.
- | Maria thinks we should hire.
- | Jonas told me that he prefers long answers.
- | "We decided to hire two engineers."
- | > We decided to hire two engineers.
- | Suppose our runway is 20 months.
- | Let's discuss the launch date tomorrow.
- | Let's talk about the budget.
- | Can you draft the press release by Friday?
- | Please draft a job ad for two engineers.
- | Please summarise the meeting.
- | Tell me what the budget is.
- | Thanks, that is great.
- | Good morning!
- | This is a great idea.
- | It is going well.
- | I will be late today.
- | I'll let you know tomorrow.
- | I will think about it.
- | We will see.
- | I'll get back to you by Friday.
- | The meeting was good.
- | The weather is nice.
- | I am tired.
- | I like it.
- | I want to know the price.
- | That is not what I meant.
- | We agreed to discuss it next week.
- | I agree with Maria.
- | Anyone up for lunch?
- | Haha, we decided to conquer the world?
- | Option A: launch in March.
- | Proposal: we hire two engineers.
- | For example, the budget could be 20k.
- | Nobody knows the budget.
- | Wie hoch ist das Budget für Aurora?
- | Sollten wir zwei Entwickler einstellen?
- | Vielleicht starten wir im März.
- | Wenn wir den Preis erhöhen, verlieren wir Kunden.
- | Jonas sagt, das Budget beträgt 30k.
- | Ich glaube, die Miete liegt bei 4000 Euro.
- | Wir haben noch nicht entschieden.
- | Danke, sehr gut.
- | Kannst du bis Freitag einen Entwurf schreiben?
- | Ich melde mich morgen.
""")

HELD_OUT = _read("""
decision | Ok so we finally decided to sunset the mobile app.
decision | The management decided to give everyone an extra day off.
decision | We've chosen Datadog for monitoring.
decision | Board decision: dividends are suspended for two years.
decision | We'll stick with the current logo.
decision | We're switching to weekly releases.
decision | We are not renewing the contract with Fabrikam.
decision | Starting next quarter we bill in dollars.
decision | We picked Lisbon for the offsite.
decision | We settled on a price of 79 euros for the Team plan.
decision | We have resolved to sell the warehouse.
decision | We are closing the Linz office at the end of June.
decision | We rejected the offer from Northwind.
decision | Wir nehmen das Angebot von Northwind an.
decision | Beschlossen: keine Dienstreisen bis März.
decision | Wir haben vereinbart, den Vertrag zu kündigen.
initiative | Anna will migrate the CRM by the end of Q1.
initiative | I will finish the cash flow model by Thursday.
initiative | Maria will lead the rebranding.
initiative | I'm working on the board slides.
initiative | We're setting up a works council in spring.
initiative | Project Heron starts in May.
initiative | Jonas takes care of the fire safety inspection by 20 November.
initiative | Next step: Anna will write the tender by Monday.
initiative | We just kicked off a pilot with three schools.
initiative | Jonas committed to ship the beta by 1 February.
initiative | Anna erstellt bis Donnerstag die Unterlagen.
initiative | Ich übernehme die Abstimmung mit dem Vermieter.
preference | I really prefer tables for figures.
preference | Please always start with the conclusion.
preference | I'd rather get updates on Fridays.
preference | Please don't use jargon in your answers.
preference | I hate long emails.
preference | Address me as Dr. Keller please.
preference | Please write in British English.
preference | I always prefer trains over planes.
preference | Ich mag keine langen Antworten.
preference | Bitte nie vor neun Uhr Termine ansetzen.
fact | Our gross margin is 71 percent.
fact | The cap table has 12 shareholders.
fact | The deadline for the tender is 20 November.
fact | Northwind is our largest customer.
fact | Our VAT number is ATU12345678.
fact | The Team plan costs 79 euros.
fact | Headcount: 41
fact | Launch: 10 April
fact | Our next board meeting is on 4 December.
fact | The patent expires in 2031.
fact | We have 18 months of runway left.
fact | Anna's desk is on the second floor.
fact | Our data centre is in Frankfurt.
fact | Seat count for Contoso: 250
fact | The name of the new product is Heron.
fact | Our auditors are from KPMG.
fact | Unsere Marge beträgt 71 Prozent.
fact | Der Vertrag mit Northwind endet am 30. Juni.
fact | Wir haben 41 Mitarbeiter.
fact | Unser Steuerberater ist Huber.
- | Do you think we should close Linz?
- | Is the margin 71 percent?
- | We may sell the warehouse.
- | I wonder whether we picked the wrong vendor.
- | It would be nice to have a bigger office.
- | Anna mentioned that the tender is due on Monday.
- | Rumour has it that Northwind is for sale.
- | They said the price is 90 euros.
- | We were thinking of switching to weekly releases.
- | Ideally the launch is in April.
- | Our runway would be 20 months if we cut costs.
- | I hope the patent expires late.
- | Let me know when the slides are ready.
- | Could you compare Datadog and Grafana?
- | Show me the decisions of last week.
- | Great work everyone!
- | See you tomorrow at ten.
- | I'm on the train, bad connection.
- | I will read it tonight.
- | Sounds good to me.
- | We want to decide that in January.
- | We almost chose Datadog.
- | Sorry for the late answer.
- | Why did we choose Lisbon?
- | The article says that margins are falling everywhere.
- | Ist die Marge nicht 71 Prozent?
- | Ich hoffe, wir bekommen den Zuschlag.
- | Anna meint, der Preis sei 90 Euro.
- | Bis morgen!
- | Ob wir das Lager verkaufen, ist offen.
""")
