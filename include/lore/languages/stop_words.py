"""Function words of languages, which tell a text's language and carry none of its meaning.

Short words that are content words of English ("die", "man", "over") are left out: an English text must stay English.
"""

from __future__ import annotations

__all__ = ["ENGLISH", "STOP_WORDS"]

_ENGLISH_LIST = """
a about all also am an and any are as at be because been but by can could did do does for from get had has have how i
if in into is it its may me more most my no not of on one only or our out own should so some such than that the their
them then there these they this those to too under until up use used was we were what when where which while who why
will with without would you your
"""
ENGLISH = frozenset(_ENGLISH_LIST.split())
_LISTS = {
    "de": """
ab aber alle allem allen aller alles als am an ander andere anderen ans auch auf aus bei beim bereits bis da dabei
dadurch dafür dagegen daher damit danach dann daran darauf daraus darf darin darüber das dass davon dazu dein deine
dem denn der deren deshalb dessen dich diese diesem diesen dieser dieses dir doch dort du durch dürfen ein eine einem
einen einer eines einige er es etwa etwas euch euer für gegen gibt habe haben hatte hätte ich ihm ihn ihnen ihr ihre
ihrem ihren ihrer im in ins ist ja jede jedem jeden jeder jedes jedoch jetzt kann kannst kein keine keinen können
könnt könnte lässt mehr mein meine meinem meinen meiner mich mir muss musst müssen nach nicht nichts noch nur ob oder
ohne sehr sein seine seit sich sie sind so sobald sodass soll sollen sollte sollten sonst sowie um und uns unser
unsere unserem unseren unserer unter vom von vor wann warum was weil welche welchem welchen welcher welches wenn wer
werden wie wieder wir wird wo wofür wohin womit woran worin wurde wurden während würde zu zum zur zwischen über
""",
    "es": """
al algo alguna algunas algunos antes aunque cada como cómo con contra cuando cuándo cuál cuáles cuánto cuántos de del
desde donde dónde durante e el ella ellos en entre es esa ese eso esta está están estas este esto estos fue hasta hay
la las le les lo los más me mi mientras muy nada ni nos nosotros nuestra nuestro o otra otro para pero poco por porque
puede pueden puedo que qué quién se según ser si sí sino sobre su sus también tan tiene tienen todo todos tu tus un
una uno unos y ya yo
""",
    "fr": """
ai alors après au aucun aussi autre autres aux avant avec avez avons ce cela ces cet cette ceux chaque chez ci comme
comment dans de depuis des donc dont du elle elles en entre es est et été être eu faire fait faut ici il ils je jusque
la le les leur leurs lors lorsque lui mais mes moi mon même ne nos notre nous on ont ou où par parce pas pendant peut
peuvent peux pourquoi puis qu quand que quel quelle quelles quels qui quoi sa se sera ses si soit sont sous sur ta tes
toi ton tous toute toutes tu un une vers vos votre vous à ça
""",
    "it": """
abbiamo ad agli ai al alla alle allo anche ancora aveva avere che chi ci ciò con cosa cui da dai dal dalla dalle degli
dei del della delle dello deve devo di dopo dove dovrebbe e ed entro essere fra gli ha hanno ho i il in io la le lei
li lo loro lui ma mentre mi mia mio molto ne nei nel nella nelle nello noi non nostra nostro o ogni oppure perché più
poi prima può qual quale quali quando quanto quanti quella quelle quelli quello questa queste questi questo se sei si
sia siamo sono sopra sotto sua sue sul sulla suo tra tu tua tuo tutti tutto un una uno vi è
""",
    "nl": """
aan al alle als ben bij dan dat de deze dit doen dus een eens en er geen had hebben heb heeft het hij hoe hoeveel hun
ik in is ja je jouw jullie kan kunnen kunt maar meer met mij mijn moet moeten naar niet niets nog nu of om omdat onder
ons onze ook op te tegen toch tot tussen u uit uw van vanaf veel voor waar waarom wanneer waren wat welk welke werd
worden wordt wij wie zal ze zich zij zijn zo zonder zou
""",
    "pl": """
aby ale bez bo być był była było był były będzie co czy dla do dlaczego gdy gdzie go i ich ile im inne ja jak jaka
jaki jakie jako je jednak jego jej jest jeśli już każdy kiedy kto która które którego której który którzy lub ma mają
mi mnie moja moje może można mój na nad nam nas nie niż o od oraz po podczas ponieważ przed przez przy się są ta tak
także tam te tego tej ten to tu tylko tym w we wszystkie z za ze że żeby
""",
    "pt": """
a ao aos as até cada com como da das de depois deve do dos e ela eles em entre essa esse esta está estão este eu foi
foram há isso isto já lhe mais mas me meu minha muito na nas nem no nos nossa nosso não o onde os ou para pela pelo
pode podem por porque posso qual quais quando quanto quantos que quem se sem ser seu sua são só sobre também tem ter
teu tua um uma você vocês à às é
""",
    "ru": """
а без более бы был была были было быть в вам вас весь во вот все всех вы где да даже для до его ее если есть еще же за
и из или им их к как какая какие какой когда который которая которые кто ли меня мне можно мой мы на над надо нам нас
не него нет ни но о об он она они оно от по под почему при про с сколько со так также такой там тем то того тоже
только том ты у уже чем что чтобы эта эти это этого этой этот я
""",
}
STOP_WORDS = {language: frozenset(words.split()) for language, words in _LISTS.items()}
"""By ISO 639-1 code; English has lists of its own where words are compared."""
