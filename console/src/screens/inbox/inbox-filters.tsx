import { SlidersHorizontal } from 'lucide-react';
import { useState } from 'react';
import { useAgentNames } from '../../api/agent-names';
import { Button } from '../../ui/button';
import { channelName, channels } from '../../ui/channel';
import { FilterSelect, FilterText } from '../../ui/filters';
import { inputClass } from '../../ui/field';
import type { InboxSearch, InboxState } from './search';

const stateNames: readonly (readonly [InboxState, string])[] = [
  ['waiting', 'With people'],
  ['approval', 'Awaiting approval'],
  ['active', 'Active'],
  ['ended', 'Ended'],
];

export function InboxFilters({
  search,
  change,
}: {
  readonly search: InboxSearch;
  readonly change: (filters: Partial<Record<keyof InboxSearch, string | undefined>>) => void;
}) {
  const names = useAgentNames();
  const { agent, channel, from, to } = search;
  const further = [agent, channel, from, to].filter((value) => value !== undefined).length;
  const [open, setOpen] = useState(further > 0);
  return (
    <search aria-label="Filters" className="flex flex-col gap-2">
      <div className="[&>input]:!w-full">
        <FilterText label="Search messages" value={search.words} onChange={(words) => change({ words })} />
      </div>
      <div className="flex items-center gap-2 [&>select]:min-w-0 [&>select]:flex-1">
        <FilterSelect
          label="State"
          value={search.state}
          options={stateNames}
          onChange={(state) => change({ state })}
        />
        <Button
          aria-expanded={open}
          icon={<SlidersHorizontal size={14} aria-hidden />}
          onClick={() => setOpen(!open)}
        >
          Filters{further > 0 && ` (${further})`}
        </Button>
      </div>
      {open && (
        <div className="grid grid-cols-2 gap-2 [&>select]:!w-full">
          <FilterSelect
            label="Agent"
            value={agent}
            options={[...names].toSorted(([, a], [, b]) => a.localeCompare(b))}
            onChange={(value) => change({ agent: value })}
          />
          <FilterSelect
            label="Channel"
            value={channel}
            options={(channel === undefined || channels.includes(channel)
              ? channels
              : [...channels, channel]
            ).map((one) => [one, channelName(one)] as const)}
            onChange={(value) => change({ channel: value })}
          />
          <DayFilter label="From" value={from} onChange={(value) => change({ from: value })} />
          <DayFilter label="To" value={to} onChange={(value) => change({ to: value })} />
        </div>
      )}
      {search.consumer !== undefined && (
        <Button className="max-w-full self-start" onClick={() => change({ consumer: undefined })}>
          <span className="truncate">{search.consumer}</span>
          <span aria-hidden>×</span>
          <span className="sr-only">, show all people</span>
        </Button>
      )}
    </search>
  );
}

function DayFilter({
  label,
  value,
  onChange,
}: {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
}) {
  return (
    <label className="flex flex-col gap-0.5 text-xs text-muted">
      {label}
      <input
        type="date"
        className={inputClass}
        value={value ?? ''}
        onChange={({ target }) => onChange(target.value === '' ? undefined : target.value)}
      />
    </label>
  );
}
