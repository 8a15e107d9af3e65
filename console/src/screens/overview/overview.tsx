import { createLazyRoute } from '@tanstack/react-router';
import { useMemo } from 'react';
import { readAnew, useKey } from '../../api/queries';
import { useRealtime } from '../../api/realtime';
import { useThrottled } from '../../api/throttled';
import { useAllowed, useTenant } from '../../session/use-session';
import { Badge } from '../../ui/badge';
import { dollars, shortCount } from '../../ui/numbers';
import { Card, Page } from '../../ui/page';
import { Loaded } from '../../ui/states';
import { TimeSeries } from '../../ui/time-series';
import { AttentionList } from './attention-list';
import { FiguresTable } from './figures-table';
import { type HourOfUse, useHours } from './figures';

export const Route = createLazyRoute('/frame/')({ component: Overview });

const livenesses = {
  live: ['good', 'Live'],
  connecting: ['warn', 'Connecting'],
  off: ['neutral', 'Not live'],
} as const;

/** What happened in the last hour and day, and what needs a person. */
function Overview() {
  const { name } = useTenant();
  const mayReadFigures = useAllowed('telemetry:read');
  const key = useKey('overview', 'attention');
  const readAgain = useThrottled(() => void readAnew(key), 2_000);
  const liveness = useRealtime(readAgain, readAgain);
  const [tone, text] = livenesses[liveness];
  return (
    <Page title="Overview" description={name} actions={<Badge tone={tone}>{text}</Badge>}>
      {mayReadFigures && <FiguresTable />}
      <AttentionList />
      {mayReadFigures && <HoursOfDay />}
    </Page>
  );
}

function HoursOfDay() {
  const query = useHours();
  return (
    <Loaded query={query}>
      {(hours) => (
        <div className="grid gap-4 lg:grid-cols-2">
          <Card title="Requests, last 24 hours">
            <Hours hours={hours} of="requests" label="Requests" format={shortCount} />
          </Card>
          <Card title="Cost, last 24 hours">
            <Hours hours={hours} of="cost" label="Cost" format={dollars} />
          </Card>
        </div>
      )}
    </Loaded>
  );
}

function Hours({
  hours,
  of,
  label,
  format,
}: {
  readonly hours: readonly HourOfUse[];
  readonly of: 'requests' | 'cost';
  readonly label: string;
  readonly format: (value: number) => string;
}) {
  const times = useMemo(() => hours.map(({ at }) => at), [hours]);
  const series = useMemo(
    () => [{ label, colour: '--accent', values: hours.map((hour) => hour[of]) }],
    [hours, label, of],
  );
  return <TimeSeries label={`${label} by hour`} times={times} series={series} format={format} bars />;
}
