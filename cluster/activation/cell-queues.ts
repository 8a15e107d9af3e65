import type { NoteQueue } from '../measures/queues.js';
import type { Cell } from './cell.js';

/** Tells the queues of each of these actors. */
export function readCellQueues(cells: Iterable<Cell>, note: NoteQueue): void {
  for (const { mailbox, parallel, running, answers, holder } of cells) {
    if (mailbox !== undefined) {
      note('mailbox', mailbox.waiting, mailbox.bytes);
      note('mailbox_with_ended', mailbox.held);
    }
    note('running_calls', parallel + (running === undefined ? 0 : 1));
    if (answers !== undefined) {
      note('remembered_answers', answers.size);
      note('joined_repeats', answers.mostJoined);
    }
    if (holder !== undefined) note('actor_writes', holder.unfinished);
  }
}
