// The chat of a page: <script async src="https://troupe.example.com/widget.js" data-key="pk_live_…" data-agent="…"></script>
import { ChatApi } from './api';
import { Conversation } from './conversation';
import { settingsFrom } from './settings';
import { View } from './view';
import { VisitorStore } from './visitor';

function start(script: HTMLScriptElement): void {
  // A page that runs its scripts again keeps its one chat.
  if (document.querySelector('troupe-chat') !== null) return;
  const settings = settingsFrom(script);
  const store = new VisitorStore(settings.key, settings.agent);
  const open = (isOpen: boolean, movesFocus = true): void => {
    store.change({ isOpen });
    view.open(isOpen, movesFocus);
    if (isOpen) void conversation.resume();
  };
  const view: View = new View(settings, {
    opened: open,
    send: (text) => void conversation.send(text),
    stop: () => void conversation.stop(),
    retry: () => void conversation.retry(),
    restart: () => conversation.restart(),
  });
  const conversation = new Conversation(new ChatApi(settings, store), store, (state, arrived) =>
    view.show(state, arrived),
  );
  view.show(conversation.state);
  // A reload leaves the chat as it was, without taking the focus from the page.
  if (store.visitor.isOpen === true) open(true, false);
}

const script = document.currentScript;
if (script instanceof HTMLScriptElement) {
  const run = (): void => {
    try {
      start(script);
    } catch (error) {
      // eslint-disable-next-line no-console -- the only place where the author of a page looks
      console.error(`Troupe chat: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  // A script in the head runs before there is a body.
  if (document.body === null) document.addEventListener('DOMContentLoaded', run, { once: true });
  else run();
}
