import type { Phase, ScaleReport } from './scale-run.js';

const whole = (value: number): string => Math.round(value).toLocaleString('en');
const short = (value: number): string => value.toFixed(2);

/** One table, a column for each size. */
export function showScale(reports: readonly ScaleReport[]): string {
  const rows: readonly (readonly [string, (report: ScaleReport) => string])[] = [
    [
      'sessions of the fullest and emptiest node ÷ mean',
      ({ balance }) => `${short(balance.sessions.most)}, ${short(balance.sessions.least)}`,
    ],
    [
      'the same after zone and upgrade',
      ({ balanceAfter }) => `${short(balanceAfter.sessions.most)}, ${short(balanceAfter.sessions.least)}`,
    ],
    ['start: all agree after, s', ({ startMs }) => short(startMs / 1_000)],
    ['links: opened by all; most of one node', ({ links }) => `${whole(links.open)}; ${links.most}`],
    ['heap per node, KB', ({ heapBytesPerNode }) => whole(heapBytesPerNode / 1_024)],
    [
      'table of owners, built whole and after a change, ms',
      ({ ring }) => `${whole(ring.fullMs)}, ${whole(ring.changeMs)}`,
    ],
    [
      'calm: batches of frames per node and second',
      ({ calm, nodes }) => short(perSecond(calm.batches, calm) / nodes),
    ],
    ['calm: reads of Redis per second', ({ calm }) => whole(perSecond(calm.reads, calm))],
    ['calm: MB per second from Redis', ({ calm }) => short(perSecond(calm.readBytes, calm) / 1e6)],
    ['zone: processes that died', ({ zone }) => whole(zone.died)],
    ['zone: all agree after, s', ({ zone }) => short(zone.convergedMs / 1_000)],
    ['zone: slots moved; sessions; slots that had to', ({ zone }) => movesOf(zone)],
    [
      'zone: probes; changes of Redis; reads',
      ({ zone }) => `${whole(zone.probes)}; ${whole(zone.changes)}; ${whole(zone.reads)}`,
    ],
    ['zone: calls failed of all; slowest, s', ({ zone }) => callsOf(zone)],
    [
      'upgrade: views; slowest part, s',
      ({ upgrade }) => `${upgrade.moves.length}; ${short(upgrade.slowestPartMs / 1_000)}`,
    ],
    ['upgrade: slots moved; sessions; slots that had to', ({ upgrade }) => movesOf(upgrade)],
    [
      'upgrade: changes of Redis; reads; MB',
      ({ upgrade }) =>
        `${whole(upgrade.changes)}; ${whole(upgrade.reads)}; ${whole(upgrade.readBytes / 1e6)}`,
    ],
    ['upgrade: calls failed of all; slowest, s', ({ upgrade }) => callsOf(upgrade)],
    ['processes that lost their lease', ({ fenced }) => whole(fenced.length)],
    [
      'simulated in, s',
      ({ calm, zone, upgrade }) => whole((calm.wallMs + zone.wallMs + upgrade.wallMs) / 1_000),
    ],
  ];
  const head = `| nodes | ${reports.map(({ nodes }) => whole(nodes)).join(' | ')} |`;
  const line = `|---|${reports.map(() => '---|').join('')}`;
  return [head, line, ...rows.map(([name, of]) => `| ${name} | ${reports.map(of).join(' | ')} |`)].join('\n');
}

function perSecond(count: number, { virtualMs }: Phase): number {
  return (count * 1_000) / virtualMs;
}

function movesOf({ moves }: Phase): string {
  const sum = (of: (move: Phase['moves'][number]) => number): number =>
    moves.reduce((total, move) => total + of(move), 0);
  return `${whole(sum(({ slots }) => slots))}; ${whole(sum(({ sessions }) => sessions))}; ${whole(sum(({ needed }) => needed))}`;
}

function callsOf({ calls }: Phase): string {
  return `${whole(calls.failed)} of ${whole(calls.sent)}; ${short(calls.slowestMs / 1_000)}`;
}
