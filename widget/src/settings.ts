import { type Texts, textsFrom } from './texts';

/** What the script tag says. */
export interface Settings {
  /** The node that the script came from. */
  readonly baseUrl: string;
  readonly key: string;
  readonly agent: string;
  readonly theme: 'light' | 'dark' | 'auto';
  readonly side: 'left' | 'right';
  readonly texts: Texts;
}

/** Throws an error that tells the author of the page what is missing. */
export function settingsFrom(script: HTMLScriptElement): Settings {
  const { dataset } = script;
  const { key = '', agent = '', theme, side } = dataset;
  if (!key.startsWith('pk_'))
    throw new Error('data-key must be a public key (pk_…). Never put another key here.');
  if (agent === '') throw new Error('data-agent must be the id of an agent of the public key.');
  return {
    baseUrl: new URL(script.src).origin,
    key,
    agent,
    theme: theme === 'light' || theme === 'dark' ? theme : 'auto',
    side: side === 'left' ? 'left' : 'right',
    texts: textsFrom(dataset),
  };
}
