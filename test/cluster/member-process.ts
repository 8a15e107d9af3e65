// One worker process of a test cluster. Its settings are the first argument; it reports its events to its parent,
// drains at SIGTERM, and ends when its lease is lost.

import { startNode, type ProcessSettings } from './process-settings.js';

export type Told =
  | { readonly told: 'ready'; readonly process: string }
  | { readonly told: 'view'; readonly number: number; readonly members: readonly string[] }
  | { readonly told: 'event'; readonly event: string };

const fencedExitCode = 3;

function tell(message: Told): void {
  process.send?.(message);
}

const settings = JSON.parse(process.argv[2] ?? '') as ProcessSettings;
const running = await startNode(
  settings,
  (event) => {
    if (event.event === 'view') {
      const members = event.view.members.map((member) => String(member.process));
      tell({ told: 'view', number: Number(event.view.number), members });
    } else tell({ told: 'event', event: event.event });
  },
  // Its actors have ended; the rest would only answer that it is not a member.
  () => process.exit(fencedExitCode),
);
process.once('SIGTERM', () => {
  void running.close().then(() => process.exit(0));
});
// The processes end with their parent, however it ended.
process.once('disconnect', () => process.exit(1));
tell({ told: 'ready', process: String(running.node.process) });
