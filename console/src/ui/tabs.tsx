import { Tabs as Base } from '@base-ui/react/tabs';
import { type ReactNode, useEffect, useRef, useState } from 'react';

export interface TabEntry<Value extends string> {
  readonly value: Value;
  readonly title: ReactNode;
  readonly content: ReactNode;
  /** Something is written in it, which is still there after a look at another part. */
  readonly keeps?: boolean;
}

/** Parts of one screen, of which one is shown. The choice belongs into the address. */
export function Tabs<Value extends string>({
  label,
  value,
  onChange,
  tabs,
}: {
  readonly label: string;
  readonly value: Value;
  readonly onChange: (value: Value) => void;
  readonly tabs: readonly TabEntry<Value>[];
}) {
  const bar = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState<readonly string[]>([value]);
  if (!seen.includes(value)) setSeen([...seen, value]);
  useEffect(() => {
    // On a phone the bar is wider than the page.
    const shown = bar.current?.querySelector(`[data-value="${value}"]`);
    shown?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [value]);
  return (
    <Base.Root
      value={value}
      onValueChange={(next: unknown) => onChange(next as Value)}
      className="flex min-w-0 flex-col gap-4"
    >
      <div ref={bar} className="overflow-x-auto">
        <Base.List aria-label={label} className="flex min-w-max gap-1 border-b border-line">
          {tabs.map((tab) => (
            <Base.Tab
              key={tab.value}
              value={tab.value}
              data-value={tab.value}
              className="-mb-px flex h-9 items-center gap-1.5 border-b-2 border-transparent px-3 text-sm font-medium whitespace-nowrap text-muted -outline-offset-2 hover:text-text data-active:border-accent data-active:text-text"
            >
              {tab.title}
            </Base.Tab>
          ))}
        </Base.List>
      </div>
      {tabs.map((tab) => (
        <Base.Panel
          key={tab.value}
          value={tab.value}
          keepMounted={tab.keeps === true && seen.includes(tab.value)}
          className="min-w-0 rounded outline-offset-4"
        >
          {tab.content}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}
