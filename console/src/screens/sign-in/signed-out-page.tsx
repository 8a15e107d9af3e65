import { type ReactNode, useEffect } from 'react';
import { Brand } from '../../ui/brand';

/** One narrow column, for people who are not signed in. */
export function SignedOutPage({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Troupe`;
  }, [title]);
  return (
    <main id="content" className="flex min-h-dvh items-center justify-center p-4">
      <div className="w-full max-w-sm rounded-xl border border-line bg-surface p-6 shadow-sm [&_button[type=submit]]:w-full">
        <Brand className="mb-5" />
        <h1 className="mb-4">{title}</h1>
        {children}
      </div>
    </main>
  );
}
