import { connectionsWithin } from '@signalbox/broker/descriptors';
import type { LimitOverrides } from '@signalbox/protocol';
import { limitsOf } from '@signalbox/protocol';
import { count } from '../../terminal/output.ts';
import { type Finding, ok, warning } from '../finding.ts';

/** Judges whether a process that may open so many files and sockets can take the configured connections. */
export function descriptorFinding(openFiles: number, limits: LimitOverrides): Finding {
  const { connections } = limitsOf(undefined, limits);
  const { total } = connectionsWithin(connections, openFiles);
  if (total >= connections.total) {
    const may = Number.isFinite(openFiles)
      ? `${openFiles} files and sockets`
      : 'any number of files and sockets';
    return ok(`a process may open ${may}: enough for ${count(connections.total, 'connection')}`);
  }
  return warning(
    `a process may open ${openFiles} files and sockets: enough for ${count(total, 'connection')}, not for the ${connections.total} of broker.limits.connections.total`,
    'raise the limit before the start (ulimit -n, LimitNOFILE=), or lower broker.limits.connections.total',
  );
}

/** Returns the number of files and sockets that a process may open, from its `/proc/PID/limits`. */
export function openFilesIn(limits: string): number | undefined {
  const soft = /^Max open files\s+(\d+|unlimited)/m.exec(limits)?.[1];
  if (soft === undefined) return undefined;
  return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
}
