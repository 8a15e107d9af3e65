import type { ChatState, ShownMessage } from './conversation';
import { markdown } from './markdown';
import type { Settings } from './settings';
import { styles } from './styles';
import type { Texts } from './texts';

export interface ViewActions {
  readonly opened: (isOpen: boolean) => void;
  readonly send: (text: string) => void;
  readonly stop: () => void;
  readonly retry: () => void;
  readonly restart: () => void;
}

/** As long as the platform takes. */
const messageCharactersMax = 8_000;
/** A reader who scrolled further up is not moved. */
const atEndPixels = 60;

function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  fields: Readonly<Record<string, string>> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(fields)) made.setAttribute(attribute, value);
  made.append(...children);
  return made;
}

/** The chat on the page, in a shadow root: neither page nor chat changes how the other looks. */
export class View {
  readonly host = document.createElement('troupe-chat');
  readonly #texts: Texts;
  readonly #actions: ViewActions;
  readonly #launcher: HTMLButtonElement;
  readonly #panel: HTMLElement;
  readonly #log: HTMLElement;
  readonly #notice = make('p', { class: 'notice' });
  readonly #buttons = make('div', { class: 'actions' });
  /** What a screen reader says: whole answers, and not each of their words. */
  readonly #spoken = make('div', { class: 'spoken', role: 'status' });
  readonly #input: HTMLTextAreaElement;
  readonly #submit: HTMLButtonElement;
  #shown: readonly ShownMessage[] = [];
  #isWorking = false;

  constructor({ texts, theme, side }: Settings, actions: ViewActions) {
    this.#texts = texts;
    this.#actions = actions;
    this.host.dataset['theme'] = theme;
    this.host.dataset['side'] = side;
    this.#launcher = this.#makeLauncher();
    this.#log = make('div', {
      class: 'log',
      role: 'log',
      'aria-live': 'off',
      'aria-label': texts.messages,
      tabindex: '0',
    });
    this.#input = make('textarea', {
      rows: '1',
      'aria-label': texts.message,
      placeholder: texts.message,
      maxlength: String(messageCharactersMax),
    });
    this.#submit = make('button', { type: 'submit', class: 'main' }, texts.send);
    this.#panel = this.#makePanel();
    const root = this.host.attachShadow({ mode: 'open' });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(styles);
    // Pages with a strict policy for styles allow this, and no style element.
    root.adoptedStyleSheets = [sheet];
    root.append(this.#launcher, this.#panel, this.#spoken);
    document.body.append(this.host);
  }

  show(state: ChatState, arrived: readonly ShownMessage[] = []): void {
    const { messages, notice, isWorking, quickReplies, canRetry } = state;
    this.#showMessages(messages);
    const text = notice === undefined ? '' : this.#texts[notice];
    const isNoticeNew = this.#notice.textContent !== text;
    if (isNoticeNew) this.#notice.textContent = text;
    const answer = this.#isWorking && !isWorking ? messages.slice(-1) : [];
    const spoken = [...answer, ...arrived].map((message) => this.#spokenOf(message));
    this.#say([...(isNoticeNew ? [text] : []), ...spoken].filter((one) => one !== '').join('\n'));
    this.#isWorking = isWorking;
    this.#submit.textContent = isWorking ? this.#texts.stop : this.#texts.send;
    const retry = canRetry ? [this.#button(this.#texts.retry, this.#actions.retry)] : [];
    const replies = quickReplies.map((label) => this.#button(label, () => this.#actions.send(label)));
    this.#buttons.replaceChildren(...retry, ...replies);
  }

  open(isOpen: boolean, movesFocus = true): void {
    this.#panel.hidden = !isOpen;
    this.#launcher.hidden = isOpen;
    this.host.toggleAttribute('data-open', isOpen);
    this.#launcher.setAttribute('aria-expanded', String(isOpen));
    if (isOpen) this.#log.scrollTop = this.#log.scrollHeight;
    if (movesFocus) (isOpen ? this.#input : this.#launcher).focus();
  }

  #makeLauncher(): HTMLButtonElement {
    const icon = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    icon.setAttribute('viewBox', '0 0 24 24');
    icon.setAttribute('aria-hidden', 'true');
    path.setAttribute('d', 'M21 12a8 8 0 0 1-8 8H4l2-3a8 8 0 1 1 15-5z');
    icon.append(path);
    const fields = {
      type: 'button',
      class: 'launcher main',
      'aria-label': this.#texts.open,
      'aria-expanded': 'false',
    };
    const launcher = make('button', fields, icon);
    launcher.addEventListener('click', () => this.#actions.opened(true));
    return launcher;
  }

  #makePanel(): HTMLElement {
    const texts = this.#texts;
    const restart = this.#icon('↻', texts.restart, () => this.#actions.restart());
    const close = this.#icon('×', texts.close, () => this.#actions.opened(false));
    const header = make('header', {}, make('h2', { id: 'title' }, texts.title), restart, close);
    const form = make('form', {}, this.#input, this.#submit);
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#submitted();
    });
    this.#input.addEventListener('keydown', (event) => {
      // While an input method composes a character, Enter ends the character.
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      if (!this.#isWorking) this.#submitted();
    });
    const panel = make('section', { class: 'panel', role: 'dialog', 'aria-labelledby': 'title' });
    panel.append(header, this.#log, this.#notice, this.#buttons, form);
    panel.hidden = true;
    panel.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') this.#actions.opened(false);
      // Shortcuts of the page are not for what is typed here.
      event.stopPropagation();
    });
    return panel;
  }

  #submitted(): void {
    if (this.#isWorking) return this.#actions.stop();
    const text = this.#input.value;
    if (text.trim() === '') return;
    this.#input.value = '';
    this.#actions.send(text);
  }

  /** Replaces only what changed: an answer grows word by word, and the messages before it stay. */
  #showMessages(messages: readonly ShownMessage[]): void {
    const log = this.#log;
    const wasAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < atEndPixels;
    const shown = messages.length === 0 ? [{ from: 'agent', text: this.#texts.greeting } as const] : messages;
    const isSame = (at: number): boolean => {
      const [before, now] = [this.#shown[at], shown[at]];
      return before !== undefined && before.from === now?.from && before.text === now.text;
    };
    for (const [at, message] of shown.entries()) {
      if (isSame(at)) continue;
      const made = this.#messageOf(message);
      const old = log.children[at];
      if (old === undefined) log.append(made);
      else old.replaceWith(made);
    }
    while (log.children.length > shown.length) log.lastElementChild?.remove();
    this.#shown = shown;
    if (wasAtEnd) log.scrollTop = log.scrollHeight;
  }

  #messageOf({ from, text }: ShownMessage): HTMLElement {
    if (from === 'visitor')
      return make('div', { class: 'message visitor' }, this.#spokenName(this.#texts.you), text);
    if (from === 'agent') {
      return make('div', { class: 'message' }, this.#spokenName(this.#texts.agent), markdown(text));
    }
    return make(
      'div',
      { class: 'message' },
      make('span', { class: 'who' }, this.#texts.person),
      markdown(text),
    );
  }

  #spokenName(name: string): HTMLElement {
    return make('span', { class: 'spoken' }, `${name}: `);
  }

  #spokenOf({ from, text }: ShownMessage): string {
    if (from === 'visitor') return '';
    return `${from === 'person' ? this.#texts.person : this.#texts.agent}: ${text}`;
  }

  #say(text: string): void {
    if (text !== '') this.#spoken.textContent = text;
  }

  #icon(sign: string, name: string, onClick: () => void): HTMLButtonElement {
    const fields = { type: 'button', class: 'icon', 'aria-label': name, title: name };
    const button = make('button', fields, make('span', { 'aria-hidden': 'true' }, sign));
    button.addEventListener('click', onClick);
    return button;
  }

  #button(label: string, onClick: () => void): HTMLButtonElement {
    const button = make('button', { type: 'button' }, label);
    button.addEventListener('click', () => {
      onClick();
      this.#input.focus();
    });
    return button;
  }
}
