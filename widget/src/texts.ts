/** Every text that the widget shows. `data-text-send="Senden"` replaces `send`. */
export const defaultTexts = {
  title: 'Chat',
  open: 'Open the chat',
  close: 'Close the chat',
  restart: 'New conversation',
  messages: 'Messages',
  message: 'Your message',
  send: 'Send',
  stop: 'Stop',
  retry: 'Try again',
  you: 'You',
  agent: 'Answer',
  person: 'A person answers',
  greeting: 'How can we help?',
  working: 'An answer is being written.',
  waiting: 'A person has to allow the next step. The answer will appear here.',
  handoff: 'A person takes care of this conversation. The answer will appear here.',
  stopped: 'Stopped.',
  reconnecting: 'The connection is lost. Connecting again …',
  failed: 'This message could not be answered.',
  busy: 'Too many messages. Please try again in a moment.',
  unavailable: 'The chat is not available at the moment.',
} as const;

export type TextName = keyof typeof defaultTexts;
export type Texts = Readonly<Record<TextName, string>>;

/** The texts of the page where it has its own. */
export function textsFrom(data: Readonly<Record<string, string | undefined>>): Texts {
  const names = Object.keys(defaultTexts) as TextName[];
  const own = names.map((name) => {
    const attribute = `text${name.charAt(0).toUpperCase()}${name.slice(1)}`;
    return [name, data[attribute] ?? defaultTexts[name]];
  });
  return Object.fromEntries(own) as Texts;
}
