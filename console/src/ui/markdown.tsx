import { useMemo } from 'react';
import { safeHtml } from './safe-html';

/** Longer texts are shown as they are: parsing them would hold up the page. */
const charactersMax = 200_000;

export function Markdown({ text }: { readonly text: string }) {
  const html = useMemo(() => (text.length > charactersMax ? undefined : safeHtml(text)), [text]);
  if (html === undefined) return <pre className="text-sm whitespace-pre-wrap wrap-anywhere">{text}</pre>;
  return <div className="markdown wrap-anywhere" dangerouslySetInnerHTML={{ __html: html }} />;
}
