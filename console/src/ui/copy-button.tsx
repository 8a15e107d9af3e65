import { Check, Copy } from 'lucide-react';
import { useEffect, useState } from 'react';
import { IconButton } from './button';

export function useCopied(): { readonly copied: boolean; copy(text: string): void } {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return undefined;
    const timer = setTimeout(() => setCopied(false), 1_500);
    return () => clearTimeout(timer);
  }, [copied]);
  return {
    copied,
    copy: (text) => {
      written(text).then(
        () => setCopied(true),
        () => setCopied(false),
      );
    },
  };
}

/** Pages without TLS, such as those of a node in a local network, have no clipboard: there the browser copies a selection. */
async function written(text: string): Promise<void> {
  if (globalThis.isSecureContext) return navigator.clipboard.writeText(text);
  const field = document.createElement('textarea');
  field.value = text;
  field.style.position = 'fixed';
  field.style.opacity = '0';
  const focused = document.activeElement;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  if (!isCopied) throw new Error('The browser refused to copy.');
}

export function CopyButton({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) {
  const { copied, copy } = useCopied();
  return (
    <IconButton
      label={copied ? 'Copied' : label}
      onClick={() => copy(text)}
      icon={copied ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
    />
  );
}
