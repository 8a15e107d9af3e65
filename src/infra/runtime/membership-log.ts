import type { LinkTrouble, MembershipEvent } from '../../../cluster/index.js';
import type { Logger } from '../diagnostics/index.js';

/** Logs membership events. Events that can occur every second during a failure are logged only at debug level. */
export function logMembershipEvent(logger: Logger, event: MembershipEvent): void {
  switch (event.event) {
    case 'view':
      return logger.info(
        { number: event.view.number, members: event.view.members.map(({ process }) => process) },
        'a new view of the cluster',
      );
    case 'fenced':
      return logger.error({ reason: event.reason }, 'this process lost its lease: its actors have ended');
    case 'store_failed':
      if (event.isFirst !== true)
        return logger.debug({ err: event.error }, 'a membership request to Redis failed');
      return logger.warn(
        { err: event.error },
        'a membership request to Redis failed; what follows is logged at debug level until Redis answers again',
      );
    case 'store_back':
      return logger.info({ awayMs: event.awayMs }, 'Redis answers membership requests again');
    case 'confirmed':
      return logger.debug(
        { view: event.view },
        'the view stays valid without Redis: most members confirmed it',
      );
    case 'not_confirmed':
      return logger.warn({ view: event.view }, 'Redis is unavailable and too few members confirm the view');
    case 'removed':
      return logger.warn({ process: event.process, because: event.because }, 'a member was removed');
    case 'opposed':
      return logger.debug({ by: event.by }, 'members that may still be running delay a change of view');
    case 'seized':
      return logger.warn(
        { number: event.number },
        'a view was made without members that could not be reached',
      );
    case 'void_view':
      return logger.error({ number: event.number }, 'two views have the same number; both are void');
    case 'outdated_store':
      return logger.warn(
        { generation: event.generation },
        'leases in this Redis do not count: the cluster uses another one now; check that REDIS_URL leads to the current master',
      );
    case 'new_generation':
      return logger.info(
        { generation: event.generation },
        'Redis is new or lost its data: leases are taken again',
      );
  }
}

/** Logs that the connection of a peer or a stranger was closed because of the data that it sent. */
export function logLinkTrouble(logger: Logger, { peer, error, leftOut }: LinkTrouble): void {
  logger.warn({ peer, error, leftOut }, 'a connection on the port of the links was closed');
}
