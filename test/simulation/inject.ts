import { failoverMs, type Fault } from './faults.js';
import { processId } from '../../cluster/ids/ids.js';
import type { World } from './world.js';

/** Starts one fault now and schedules its end. */
export function inject(world: World, fault: Fault): void {
  const later = (forMs: number, action: () => void): void => {
    world.time.after(forMs, action);
  };
  const hostAt = (place: number) => world.places[place]?.host;
  if (fault.kind.startsWith('members_'))
    world.suspensions.membersDisturbed('forMs' in fault ? fault.forMs : 0);
  switch (fault.kind) {
    case 'kill':
      world.kill(fault.node);
      break;
    case 'vanish':
      world.kill(fault.node, { vanish: true });
      break;
    case 'drain':
      world.drain(fault.node);
      break;
    case 'freeze':
    case 'pause': {
      const host = hostAt(fault.node);
      if (fault.kind === 'pause') host?.pause();
      else host?.freeze();
      later(fault.forMs, () => host?.thaw());
      break;
    }
    case 'suspend': {
      const host = hostAt(fault.node);
      if (host !== undefined) world.ownership.excuse(processId(host.name));
      host?.pause(true);
      const overlapMs = world.suspensions.overlapMs();
      later(fault.forMs, () => {
        host?.thaw();
        if (host !== undefined) world.effects.resumed(host.name, overlapMs);
      });
      break;
    }
    case 'cut':
    case 'cut_one_way': {
      const one = hostAt(fault.node)?.name ?? '';
      const other = hostAt(fault.other)?.name ?? '';
      world.network.cut(one, other);
      if (fault.kind === 'cut') world.network.cut(other, one);
      later(fault.forMs, () => {
        world.network.heal(one, other);
        world.network.heal(other, one);
      });
      break;
    }
    case 'members_away':
      count(world.membersAway, fault.node, 1);
      later(fault.forMs, () => count(world.membersAway, fault.node, -1));
      break;
    case 'store_away':
      count(world.storeAway, fault.node, 1);
      later(fault.forMs, () => count(world.storeAway, fault.node, -1));
      break;
    case 'lease_removed':
      world.removeLease(fault.node);
      break;
    case 'slow_store':
      world.storeDelayMs.set(fault.node, fault.delayMs);
      later(fault.forMs, () => world.storeDelayMs.delete(fault.node));
      break;
    case 'unknown_commits':
      world.unknownCommits += 1;
      later(fault.forMs, () => {
        world.unknownCommits -= 1;
      });
      break;
    case 'slow_network':
      world.network.latencyMs = [20, 120];
      later(fault.forMs, () => {
        world.network.latencyMs = [0.2, 2];
      });
      break;
    case 'store_failover':
      world.failOver(fault.lagMs, failoverMs);
      break;
    case 'poison':
      world.poison();
      break;
    case 'members_flushed':
      world.members.current.flush();
      break;
    case 'members_failover':
      later(fault.lagMs, world.members.lag());
      break;
    case 'members_late':
      world.membersLateMs.set(fault.node, fault.lateMs);
      later(fault.forMs, () => world.membersLateMs.delete(fault.node));
      break;
    case 'members_split':
      later(fault.forMs, world.members.split(fault.nodes));
      break;
    case 'wall_clock':
      hostAt(fault.node)?.setWallOffset(fault.offsetMs);
      break;
  }
}

function count(away: Map<number, number>, node: number | 'all', change: number): void {
  const place = node === 'all' ? -1 : node;
  away.set(place, (away.get(place) ?? 0) + change);
}
