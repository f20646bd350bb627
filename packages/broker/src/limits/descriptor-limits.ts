/** The numbers of connections that a broker takes. */
export interface ConnectionNumbers {
  total: number;
  reserved: number;
  unauthenticated: number;
}

/** The descriptors that databases, logs and the program itself need beside connections. */
const ownDescriptors = 96;

/**
 * Returns the numbers of connections that fit into a process that may open so many files and sockets. A connection more would
 * otherwise take the descriptor that a database needs. Unauthenticated connections get at most a quarter of what there is.
 */
export function connectionsWithin(wanted: ConnectionNumbers, openFiles: number): ConnectionNumbers {
  const available = Math.max(2, openFiles - ownDescriptors);
  const unauthenticated = Math.min(wanted.unauthenticated, Math.max(1, Math.floor(available / 4)));
  const total = Math.min(wanted.total, available - unauthenticated);
  // The places that are kept for operators and orchestrators must leave some to the others.
  const reserved = total < wanted.total ? Math.min(wanted.reserved, Math.floor(total / 4)) : wanted.reserved;
  return { total, reserved, unauthenticated };
}

/**
 * Returns the number of files and sockets that this process may open. Node raises its soft limit to the hard one when it starts.
 * Where the system has no such limit, returns `Infinity`.
 */
export function openFileLimit(): number {
  // The names of the machine's networks would take long to find out.
  const report = process.report as typeof process.report & { excludeNetwork: boolean };
  const { excludeNetwork } = report;
  report.excludeNetwork = true;
  try {
    const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft: number | string } } };
    const soft = Number(userLimits?.open_files?.soft);
    return Number.isFinite(soft) ? soft : Number.POSITIVE_INFINITY;
  } finally {
    report.excludeNetwork = excludeNetwork;
  }
}
