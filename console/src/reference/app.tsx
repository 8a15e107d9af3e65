import { Menu, Moon, Search, Sun, X } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { chooseTheme, theme } from '../session/theme';
import { useValue } from '../session/value';
import { IconButton } from '../ui/button';
import { inputClass } from '../ui/field';
import { cx } from '../ui/cx';
import { Missing } from '../ui/states';
import { useAddress } from './address';
import { Contents } from './contents';
import { useDocument } from './context';
import { search } from './document';
import { OperationPage } from './operation-page';
import { ErrorsPage, GroupPage, Overview } from './overview';

/** The contents beside what the address names; on a phone they slide over it. */
export function App() {
  const address = useAddress();
  const [open, setOpen] = useState(false);
  const [wanted, setWanted] = useState('');
  const document = useDocument();
  const content = useRef<HTMLElement>(null);
  const title = useTitle(address);
  useEffect(() => {
    window.document.title = title;
    scrollTo(0, 0);
  }, [title]);
  useEffect(() => {
    const close = ({ key }: KeyboardEvent): void => {
      if (key === 'Escape') setOpen(false);
    };
    addEventListener('keydown', close);
    return () => removeEventListener('keydown', close);
  }, []);
  return (
    <div className="min-h-dvh">
      <a
        href="#content"
        onClick={(event) => {
          // The address names what is shown, so it stays.
          event.preventDefault();
          content.current?.focus();
        }}
        className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-70 focus:rounded-md focus:bg-accent focus:px-3 focus:py-2 focus:text-on-accent"
      >
        Skip to the content
      </a>
      <header className="sticky top-0 z-40 flex h-12 items-center gap-2 border-b border-line bg-surface px-3">
        <div className="lg:hidden">
          <IconButton
            label={open ? 'Close the contents' : 'Open the contents'}
            aria-expanded={open}
            onClick={() => setOpen(!open)}
            icon={open ? <X size={18} aria-hidden /> : <Menu size={18} aria-hidden />}
          />
        </div>
        <a href="#overview" className="font-semibold whitespace-nowrap">
          Troupe API
        </a>
        <SearchBox
          wanted={wanted}
          change={(text) => {
            setWanted(text);
            setOpen(text !== '');
          }}
          openFirst={() => {
            const [first] = search(document.operations.values(), wanted);
            if (first === undefined || wanted.trim() === '') return;
            location.hash = first.operationId;
            setOpen(false);
            content.current?.focus();
          }}
        />
        <div className="flex-1" />
        <ThemeButton />
        <a href="/" className="text-sm text-accent max-sm:hidden">
          Console
        </a>
      </header>
      <div className="mx-auto flex max-w-[110rem]">
        <nav
          aria-label="Contents"
          className={cx(
            'fixed inset-x-0 top-12 bottom-0 z-30 overflow-y-auto border-r border-line bg-surface p-3 lg:sticky lg:block lg:h-[calc(100dvh-3rem)] lg:w-80 lg:shrink-0',
            open ? 'block' : 'hidden',
          )}
        >
          <Contents address={address} wanted={wanted} onNavigate={() => setOpen(false)} />
        </nav>
        <main ref={content} id="content" tabIndex={-1} className="min-w-0 flex-1 p-4 outline-none md:p-6">
          <Named address={address} />
        </main>
      </div>
    </div>
  );
}

const errorsAddress = 'error-codes';

function Named({ address }: { readonly address: string }) {
  const document = useDocument();
  if (address === '' || address === 'overview') return <Overview />;
  if (address === errorsAddress) return <ErrorsPage />;
  const operation = document.operations.get(address);
  // Another operation is another page: its form begins anew.
  if (operation !== undefined) return <OperationPage key={address} operation={operation} />;
  const group = document.groups.find(({ name }) => name === address);
  return group === undefined ? <Missing what={`The operation ${address}`} /> : <GroupPage group={group} />;
}

function useTitle(address: string): string {
  const document = useDocument();
  const named =
    address === errorsAddress
      ? 'Error codes'
      : (document.operations.get(address)?.summary ??
        document.groups.find(({ name }) => name === address)?.title);
  return named === undefined ? 'Troupe API' : `${named} · Troupe API`;
}

function SearchBox({
  wanted,
  change,
  openFirst,
}: {
  readonly wanted: string;
  readonly change: (text: string) => void;
  readonly openFirst: () => void;
}) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      const isWriting =
        event.target instanceof HTMLElement && event.target.matches('input, textarea, select');
      if (event.key !== '/' || isWriting || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      input.current?.focus();
    };
    addEventListener('keydown', focus);
    return () => removeEventListener('keydown', focus);
  }, []);
  return (
    <form
      role="search"
      className="relative min-w-0 max-w-md flex-1"
      onSubmit={(event) => {
        event.preventDefault();
        openFirst();
      }}
    >
      <Search size={14} aria-hidden className="pointer-events-none absolute top-2.25 left-2.5 text-muted" />
      <input
        ref={input}
        type="search"
        aria-label="Search operations"
        aria-keyshortcuts="/"
        placeholder="Search (/)"
        value={wanted}
        onChange={({ target }) => change(target.value)}
        className={cx(inputClass, 'pl-8')}
      />
    </form>
  );
}

function ThemeButton() {
  const chosen = useValue(theme);
  const isDark =
    chosen === 'dark' || (chosen === 'system' && matchMedia('(prefers-color-scheme: dark)').matches);
  return (
    <IconButton
      label={isDark ? 'Show in light' : 'Show in dark'}
      onClick={() => chooseTheme(isDark ? 'light' : 'dark')}
      icon={isDark ? <Sun size={16} aria-hidden /> : <Moon size={16} aria-hidden />}
    />
  );
}
