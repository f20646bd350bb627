import type { HostReport } from '@signalbox/protocol';

/** Says what is wrong with the orchestrators of a label, a sentence each: that none is there, and what it may not serve. */
export function hostProblems({
  host,
  servers,
  away_since: since,
  never_seen,
  refused = [],
}: HostReport): string[] {
  const tools = servers.length === 0 ? '' : `, with the tools of ${servers.join(', ')}`;
  const how = never_seen ? 'has not been seen' : 'has been away';
  const names = refused.join(', ');
  return [
    ...(since === undefined ? [] : [`host ${host} ${how} since ${new Date(since).toISOString()}${tools}`]),
    ...(refused.length === 0
      ? []
      : [`host ${host} serves ${names}, which hosts.${host} of the configuration does not name: refused`]),
  ];
}
