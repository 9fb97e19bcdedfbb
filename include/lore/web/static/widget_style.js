// Styles of the panel. A site sets --lore-… on :root; everything else is ours.
export const STYLE = `
:host { --page: var(--lore-background, light-dark(#fbfaf7, #151816)); --card: var(--lore-card, light-dark(#fff, #1d211f));
  --ink: var(--lore-text, light-dark(#1d211f, #e8e8e3)); --soft: var(--lore-soft, light-dark(#59615d, #a3aaa5));
  --line: var(--lore-line, light-dark(#e3e1da, #333a36)); --mark: light-dark(#fdf1c4, #4a4220); --code: light-dark(#f3f2ec, #262b28);
  --bad: light-dark(#9a2f22, #f0a59b); --round: var(--lore-radius, 14px); }
* { box-sizing: border-box; }
dialog { position: fixed; inset: auto 20px 20px auto; margin: 0; padding: 0; border: 1px solid var(--line); border-radius: calc(var(--round) + 4px);
  width: min(440px, calc(100vw - 40px)); height: min(700px, calc(100dvh - 40px)); max-width: none; max-height: none; overflow: hidden;
  background: var(--page); color: var(--ink); font: inherit; overflow-wrap: anywhere; box-shadow: 0 4px 12px rgb(0 0 0 / .12), 0 20px 60px rgb(0 0 0 / .22); }
dialog[open] { display: flex; flex-direction: column; animation: rise .16s ease-out; }
:host([data-position=left]) dialog { inset: auto auto 20px 20px; }
dialog::backdrop { background: rgb(0 0 0 / .28); }
@keyframes rise { from { opacity: 0; transform: translateY(10px); } }
h2, h3, h4, p { margin: 0; } h2, h3 { line-height: 1.3; text-wrap: balance; }
button, textarea { font: inherit; color: inherit; }
button { cursor: pointer; background: transparent; border: 1px solid var(--line); border-radius: 10px; padding: 6px 12px; min-height: 36px; font-size: .9em; }
button:hover { border-color: var(--accent); }
button:disabled { cursor: default; }
[hidden] { display: none !important; }
a { color: var(--accent); text-underline-offset: 3px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
header { display: flex; align-items: center; gap: 8px; padding: 10px 10px 10px 18px; border-bottom: 1px solid var(--line); }
header h2 { flex: 1; min-width: 0; font-size: 1.05em; }
header button { border-color: transparent; color: var(--soft); }
#close { width: 36px; padding: 0; font-size: 1.3em; line-height: 1; }
#talk { flex: 1; overflow-y: auto; overscroll-behavior: contain; padding: 18px; }
#talk:focus-visible { outline-offset: -2px; }
#welcome p { color: var(--soft); }
#try { display: grid; gap: 8px; margin-top: 16px; }
#try button { text-align: left; background: var(--card); min-height: 44px; padding: 9px 14px; border-radius: var(--round); }
.turn + .turn { margin-top: 28px; padding-top: 24px; border-top: 1px solid var(--line); }
.turn:last-child { min-height: 100%; }
.turn > h3 { font-size: 1.15em; margin-bottom: 10px; }
.status { color: var(--soft); }
.answer > * { margin: 10px 0; } .answer > :first-child { margin-top: 0; }
.answer ul, .answer ol { padding-left: 22px; }
.answer blockquote { margin: 12px 0 4px; padding: 1px 0 1px 14px; border-left: 3px solid var(--accent); }
.answer :is(h1, h2, h3, h4, h5, h6) { font-size: 1em; font-weight: 650; margin: 16px 0 6px; }
blockquote > :last-child { margin-bottom: 0; } blockquote > * + * { margin-top: 8px; }
pre { margin: 10px 0; overflow-x: auto; background: var(--code); border-radius: 10px; padding: 10px 12px; line-height: 1.5; overflow-wrap: normal; }
code { font: .88em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; background: var(--code); border-radius: 5px; padding: .1em .35em; }
pre code { background: none; padding: 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .92em; overflow-wrap: normal; }
th, td { border-bottom: 1px solid var(--line); padding: 6px 14px 6px 0; text-align: left; vertical-align: top; }
.citation { min-height: 0; min-width: 1.5em; padding: 0 .4em; margin: 0 .12em; border: 0; border-radius: 6px; font-size: .76em; line-height: 1.6; font-weight: 600;
  color: var(--accent); background: color-mix(in srgb, var(--accent) 14%, transparent); }
.citation:hover { background: var(--accent); color: var(--accent-ink); }
.sources { margin-top: 18px; }
.sources h4 { font-size: .88em; color: var(--soft); margin-bottom: 8px; }
.sources ol { list-style: none; margin: 0; padding: 0; display: grid; gap: 8px; }
.source { background: var(--card); border: 1px solid var(--line); border-radius: var(--round); padding: 10px 12px; font-size: .94em; }
.source.lit { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); }
.source b { color: var(--accent); font-size: .85em; margin-right: 8px; }
.source > a, .source > span { font-weight: 600; }
.place { color: var(--soft); font-size: .88em; }
.quote { margin-top: 6px; font-size: .94em; max-height: 6.4em; overflow: hidden; }
.quote.all { max-height: none; }
.quote mark { background: var(--mark); color: inherit; border-radius: 3px; padding: 0 2px; } .quote mark code { background: none; padding: 0; }
.quote p + p { margin-top: 6px; }
.more { border: 0; padding: 0; min-height: 28px; color: var(--accent); }
.actions { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; margin-top: 14px; font-size: .95em; }
.actions [aria-pressed=true] { background: var(--accent); color: var(--accent-ink); border-color: var(--accent); }
.notice { border: 1px solid var(--line); border-left: 3px solid var(--bad); border-radius: 10px; padding: 10px 12px; background: var(--card); margin-top: 10px; }
.notice button { margin-top: 8px; }
form { padding: 12px; border-top: 1px solid var(--line); }
.field { display: flex; align-items: flex-end; gap: 8px; background: var(--card); border: 1px solid var(--line); border-radius: var(--round); padding: 6px; }
.field:focus-within { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); }
textarea { flex: 1; min-width: 0; border: 0; outline: 0; background: none; resize: none; padding: 7px 8px; line-height: 1.4; max-height: 140px; field-sizing: content; }
textarea:focus-visible { outline: 0; }
textarea::placeholder { color: var(--soft); opacity: 1; }
.field button { background: var(--accent); color: var(--accent-ink); border-color: transparent; font-weight: 600; padding: 6px 16px; }
.field #stop { background: none; color: inherit; border-color: var(--line); }
.reason { display: grid; gap: 6px; margin-top: 8px; font-size: .9rem; }
.reason textarea { display: block; width: 100%; margin-top: 4px; border: 1px solid var(--line); border-radius: 8px; }
.reason button { justify-self: start; }
@media (max-width: 480px) { dialog, :host([data-position=left]) dialog { inset: 0; width: 100vw; height: 100dvh; border: 0; border-radius: 0; } }
@media (prefers-reduced-motion: reduce) { dialog[open] { animation: none; } }
`;
