import { readFile } from 'node:fs/promises';
import { type Peer, peerOf } from './peers.js';

const tables = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];
/** ESTABLISHED, and CLOSE_WAIT: the peer has closed the connection, this process has not yet. */
const openStates = new Set(['01', '08']);

/** The number of connections of each peer to the local port, from Linux; undefined on other systems. */
export async function kernelConnections(port: number): Promise<Map<Peer, number> | undefined> {
  const counts = new Map<Peer, number>();
  let found = false;
  for (const table of tables) {
    let text: string;
    try {
      text = await readFile(table, 'latin1');
    } catch {
      // Another operating system, or IPv6 is off.
      continue;
    }
    found = true;
    countLines(text, port, counts);
  }
  return found ? counts : undefined;
}

/** `  1: 0100007F:1F90 0100007F:8BF2 01 …`: number, own address and port, peer's address and port, state. */
function countLines(text: string, port: number, counts: Map<Peer, number>): void {
  const ownPort = port.toString(16).toUpperCase().padStart(4, '0');
  for (const line of text.split('\n')) {
    const [, own, other, state] = line.trim().split(/ +/, 4);
    if (own === undefined || other === undefined || state === undefined) continue;
    if (!openStates.has(state) || !own.endsWith(`:${ownPort}`)) continue;
    const peer = peerOf(bytesOf(other.slice(0, other.indexOf(':'))));
    counts.set(peer, (counts.get(peer) ?? 0) + 1);
  }
}

/** Each group of four bytes is a number in the byte order of this machine. */
function bytesOf(hex: string): Uint8Array {
  const bytes = Buffer.from(hex, 'hex');
  return isLittleEndian ? bytes.swap32() : bytes;
}

const isLittleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;
