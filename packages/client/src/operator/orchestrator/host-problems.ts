import type { HostReport } from '@signalbox/protocol';

/** The most servers that a sentence names as refused, and the most characters of each name: a host names its servers as it likes. */
const maxNamed = 10;
const nameLength = 80;

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
  const names = refused.slice(0, maxNamed).map((name) => name.slice(0, nameLength));
  const more = refused.length > maxNamed ? ` and ${refused.length - maxNamed} more` : '';
  return [
    ...(since === undefined ? [] : [`host ${host} ${how} since ${new Date(since).toISOString()}${tools}`]),
    ...(refused.length === 0
      ? []
      : [
          `host ${host} serves ${names.join(', ')}${more}, which hosts.${host} of the configuration does not name: refused`,
        ]),
  ];
}
