import type { Manifest } from '@signalbox/protocol';

type NotReady = NonNullable<Manifest['not_ready']>;

/** The most names in one line. */
const maxNames = 5;

/** Says which servers have told no tool yet, and why; nothing if there are none. */
export function notReadyLines(notReady: NotReady = []): string[] {
  const starting = notReady.filter(({ state }) => state === 'starting').map(({ server }) => server);
  const away = notReady.filter(({ state }) => state === 'away');
  const failed = notReady.filter(({ state }) => state === 'failed');
  return [
    ...(starting.length > 0 ? [stillStarting(starting)] : []),
    ...away.map(({ server, reason }) => `${server} is not ready: ${reason}`),
    ...failed.map(({ server, reason }) => `${server} failed to start: ${reason ?? 'for an unknown reason'}`),
  ];
}

/** Writes `a, b and c are still starting`. */
export function stillStarting(servers: readonly string[]): string {
  return `${listed(servers)} ${servers.length === 1 ? 'is' : 'are'} still starting`;
}

function listed(names: readonly string[]): string {
  const more = names.length - maxNames;
  const shown = more > 0 ? [...names.slice(0, maxNames), `${more} more`] : names;
  return shown.length === 1 ? shown[0]! : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
}
