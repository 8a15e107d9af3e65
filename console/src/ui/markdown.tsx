import { useMemo } from 'react';
import { safeHtml } from './safe-html';

export function Markdown({ text }: { readonly text: string }) {
  const html = useMemo(() => safeHtml(text), [text]);
  if (html === undefined) return <pre className="text-sm whitespace-pre-wrap wrap-anywhere">{text}</pre>;
  return <div className="markdown wrap-anywhere" dangerouslySetInnerHTML={{ __html: html }} />;
}
