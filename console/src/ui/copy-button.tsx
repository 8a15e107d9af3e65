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
      navigator.clipboard.writeText(text).then(
        () => setCopied(true),
        () => setCopied(false),
      );
    },
  };
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
