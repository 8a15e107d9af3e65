import { count, percent } from '../../../ui/numbers';
import { type Cluster, partColour, shortName } from './cluster-data';

const size = 220;
const middle = size / 2;
const [outer, inner] = [100, 62];
const turn = 2 * Math.PI;

interface Arc {
  readonly process: string;
  readonly from: number;
  readonly share: number;
}

/** Each node's share of the slots. The table beside it says the same in words. */
export function RingDrawing({ cluster: { nodes, slots, view } }: { readonly cluster: Cluster }) {
  const arcs = arcsOf(nodes, slots);
  const words = arcs.map(
    ({ process, share }, index) => `${index + 1} ${shortName(process)}: ${percent(share * 100)}`,
  );
  return (
    <svg
      viewBox={`0 0 ${size} ${size}`}
      className="mx-auto w-full max-w-56"
      role="img"
      aria-label={`The ring of ${count(slots)} slots. ${words.join(', ')}.`}
    >
      {arcs.length < 2 && (
        <circle
          cx={middle}
          cy={middle}
          r={(outer + inner) / 2}
          fill="none"
          stroke={arcs.length === 0 ? 'var(--line)' : partColour(0)}
          strokeWidth={outer - inner}
        />
      )}
      {(arcs.length < 2 ? [] : arcs).map((arc, index) => (
        <path
          key={arc.process}
          d={pathOf(arc)}
          fill={partColour(index)}
          stroke="var(--surface)"
          strokeWidth={2}
        />
      ))}
      {arcs.map((arc, index) => (
        <NumberAt key={arc.process} arc={arc} number={index + 1} />
      ))}
      <text x={middle} y={middle - 4} textAnchor="middle" fontSize={20} fontWeight={600} fill="var(--text)">
        {nodes.length} {nodes.length === 1 ? 'node' : 'nodes'}
      </text>
      <text x={middle} y={middle + 16} textAnchor="middle" fontSize={12} fill="var(--muted)">
        view {view.number}
      </text>
    </svg>
  );
}

function arcsOf(nodes: Cluster['nodes'], slots: number): readonly Arc[] {
  let from = 0;
  return nodes
    .filter((node) => node.slots > 0)
    .map(({ process, slots: own }) => {
      const arc = { process, from, share: own / Math.max(1, slots) };
      from += arc.share;
      return arc;
    });
}

const at = (share: number, radius: number): readonly [x: number, y: number] => [
  middle + radius * Math.sin(share * turn),
  middle - radius * Math.cos(share * turn),
];

function pathOf({ from, share }: Arc): string {
  const to = from + share;
  const large = share > 0.5 ? 1 : 0;
  const [points1, points2] = [at(from, outer), at(to, outer)];
  const [points3, points4] = [at(to, inner), at(from, inner)];
  return [
    `M ${points1.join(' ')}`,
    `A ${outer} ${outer} 0 ${large} 1 ${points2.join(' ')}`,
    `L ${points3.join(' ')}`,
    `A ${inner} ${inner} 0 ${large} 0 ${points4.join(' ')} Z`,
  ].join(' ');
}

/** On a disc of its own, so that it can be read on every colour. */
function NumberAt({ arc: { from, share }, number }: { readonly arc: Arc; readonly number: number }) {
  const [x, y] = at(from + share / 2, (outer + inner) / 2);
  return (
    <g aria-hidden>
      <circle cx={x} cy={y} r={10} fill="var(--surface)" />
      <text x={x} y={y + 4} textAnchor="middle" fontSize={12} fontWeight={600} fill="var(--text)">
        {number}
      </text>
    </g>
  );
}
