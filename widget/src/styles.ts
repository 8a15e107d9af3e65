/** The colours keep a contrast of 4.5 to 1. A page sets `--troupe-accent` and `--troupe-accent-text` on `troupe-chat`. */
export const styles = `
:host {
  --bg: #ffffff; --fg: #1c1c22; --soft: #f1f1f5; --line: #c9c9d4; --muted: #55555f;
  --accent: var(--troupe-accent, #3b4cca); --on-accent: var(--troupe-accent-text, #ffffff);
  all: initial; position: fixed; inset-block-end: 20px; inset-inline-end: 20px; z-index: 2147483000;
  font: 15px/1.5 system-ui, sans-serif; color: var(--fg); color-scheme: light;
}
:host([data-side='left']) { inset-inline-end: auto; inset-inline-start: 20px; }
:host([data-theme='dark']) {
  --bg: #1b1b20; --fg: #f1f1f4; --soft: #2a2a31; --line: #4a4a55; --muted: #b4b4bf;
  --accent: var(--troupe-accent, #a5b0ff); --on-accent: var(--troupe-accent-text, #14141a);
  color-scheme: dark;
}
@media (prefers-color-scheme: dark) {
  :host([data-theme='auto']) {
    --bg: #1b1b20; --fg: #f1f1f4; --soft: #2a2a31; --line: #4a4a55; --muted: #b4b4bf;
    --accent: var(--troupe-accent, #a5b0ff); --on-accent: var(--troupe-accent-text, #14141a);
    color-scheme: dark;
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
button { font: inherit; color: inherit; cursor: pointer; border-radius: 8px; border: 1px solid var(--line); background: var(--bg); padding: 6px 12px; min-height: 36px; }
button:focus-visible, textarea:focus-visible, a:focus-visible, .log:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
button[disabled] { opacity: .6; cursor: default; }
.main { background: var(--accent); color: var(--on-accent); border-color: transparent; }
.launcher { width: 56px; height: 56px; border-radius: 50%; padding: 0; display: grid; place-items: center; box-shadow: 0 4px 16px #0004; }
.launcher svg { width: 26px; height: 26px; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
.panel { display: flex; flex-direction: column; width: 380px; height: min(600px, calc(100dvh - 40px)); background: var(--bg); border: 1px solid var(--line); border-radius: 14px; box-shadow: 0 8px 32px #0004; overflow: hidden; }
header { display: flex; align-items: center; gap: 8px; padding: 10px 12px; border-block-end: 1px solid var(--line); }
h2 { font-size: 1rem; font-weight: 600; margin: 0; flex: 1; overflow-wrap: anywhere; }
.icon { width: 36px; padding: 0; border-color: transparent; font-size: 20px; line-height: 1; }
.log { flex: 1; overflow-y: auto; padding: 14px; display: flex; flex-direction: column; gap: 10px; overscroll-behavior: contain; }
.message { max-width: 88%; padding: 8px 12px; border-radius: 12px; background: var(--soft); overflow-wrap: anywhere; align-self: flex-start; }
.visitor { align-self: flex-end; background: var(--accent); color: var(--on-accent); white-space: pre-wrap; } .plain { white-space: pre-wrap; }
.who { display: block; font-size: .8rem; color: var(--muted); }
.message > .spoken + * { margin-block-start: 0; } .message > :last-child { margin-block-end: 0; }
.message p, .message ul, .message ol, .message pre { margin-block: .5em; }
.message ul, .message ol { padding-inline-start: 1.4em; }
pre, table { overflow-x: auto; max-width: 100%; display: block; }
code { font: .9em ui-monospace, monospace; } pre { background: var(--bg); padding: 8px; border-radius: 8px; }
td, th { border: 1px solid var(--line); padding: 2px 6px; text-align: start; }
a { color: inherit; text-decoration: underline; }
.notice { padding: 0 14px 8px; margin: 0; color: var(--muted); font-size: .9rem; min-height: 1.5em; }
.actions { display: flex; flex-wrap: wrap; gap: 8px; padding: 0 14px 10px; }
form { display: flex; gap: 8px; align-items: flex-end; padding: 10px 12px; border-block-start: 1px solid var(--line); }
textarea { flex: 1; font: inherit; font-size: 16px; color: inherit; background: var(--bg); border: 1px solid var(--muted); border-radius: 8px; padding: 7px 10px; resize: none; max-height: 140px; field-sizing: content; }
.spoken { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media (max-width: 480px) {
  :host([data-open]) { inset: 0; }
  .panel { width: 100%; height: 100%; border: 0; border-radius: 0; }
}
@media (prefers-reduced-motion: no-preference) { .log { scroll-behavior: smooth; } }
`;
