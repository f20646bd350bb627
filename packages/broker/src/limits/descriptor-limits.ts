import { readFileSync } from 'node:fs';

/** The numbers of connections that a broker accepts. */
export interface ConnectionNumbers {
  total: number;
  reserved: number;
  unauthenticated: number;
}

/** The descriptors that databases, logs and the program itself need beside connections. */
const ownDescriptors = 96;

/**
 * Returns the numbers of connections that fit into a process that may open this many files and sockets. Further connections would take the
 * descriptors that a database needs. Unauthenticated connections get at most a quarter of the descriptors.
 */
export function connectionsWithin(wanted: ConnectionNumbers, openFiles: number): ConnectionNumbers {
  const available = Math.max(2, openFiles - ownDescriptors);
  const unauthenticated = Math.min(wanted.unauthenticated, Math.max(1, Math.floor(available / 4)));
  const total = Math.min(wanted.total, available - unauthenticated);
  // The places for operators and orchestrators must leave some to the others.
  const reserved = total < wanted.total ? Math.min(wanted.reserved, Math.floor(total / 4)) : wanted.reserved;
  return { total, reserved, unauthenticated };
}

/**
 * Returns the number of files and sockets that this process may open. Node raises its soft limit to the hard one when it starts. If the
 * system has no such limit, returns `Infinity`.
 */
export function openFileLimit(): number {
  const soft = Number(process.platform === 'linux' ? limitFromProc() : limitFromReport());
  return Number.isFinite(soft) ? soft : Number.POSITIVE_INFINITY;
}

/** A report takes a hundred times as long as this file, which a container without `/proc` lacks. */
function limitFromProc(): number | string | undefined {
  try {
    return /^Max open files +(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
  } catch {
    return limitFromReport();
  }
}

function limitFromReport(): number | string | undefined {
  // Collecting the names of the machine's networks would take long.
  const report = process.report as typeof process.report & { excludeNetwork: boolean };
  const { excludeNetwork } = report;
  report.excludeNetwork = true;
  try {
    const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft: number | string } } };
    return userLimits?.open_files?.soft;
  } finally {
    report.excludeNetwork = excludeNetwork;
  }
}
