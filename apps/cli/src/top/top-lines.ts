import type { Top } from '@signalbox/client/operator';
import { byteSize } from '../terminal/byte-size.ts';
import { formatDuration } from '../terminal/duration.ts';
import { tableLines } from '../terminal/output.ts';
import { rankingLines } from '../tools/top.ts';

/** Writes what happens now for people. `lastMs` is the time of which tools are ranked. */
export function topLines({ broker, roles, tools }: Top, url: string, lastMs: number): string[] {
  const { storedPerMinute, settledPerMinute, deadPerMinute, refusedPerMinute } = broker;
  const sizes = [
    ...(broker.memoryBytes === undefined ? [] : [`memory ${byteSize(broker.memoryBytes)}`]),
    ...(broker.storeBytes === undefined ? [] : [`store ${byteSize(broker.storeBytes)}`]),
  ];
  return [
    `broker    ${[broker.name === undefined ? url : `${broker.name}, ${url}`, ...sizes].join(', ')}`,
    `a minute  ${rate(storedPerMinute)} stored, ${rate(settledPerMinute)} settled, ${rate(deadPerMinute)} dead letters, ${rate(refusedPerMinute)} refused`,
    '',
    ...(roles.length === 0
      ? ['no role is connected, and no message waits']
      : tableLines(
          ['ROLE', 'CONNECTED', 'WAITING', 'OLDEST'],
          roles.map(({ role, connections, waiting, oldestSeconds }) => [
            role,
            String(connections),
            String(waiting),
            oldestSeconds === undefined ? '-' : formatDuration(oldestSeconds * 1000),
          ]),
        )),
    '',
    ...toolLines(tools, lastMs),
  ];
}

function toolLines(tools: Top['tools'], lastMs: number): string[] {
  if (!Array.isArray(tools)) return [`the tools are not known: ${tools.missing}`];
  if (tools.length === 0) return [`no tool was called in the last ${formatDuration(lastMs)}`];
  return [`tools in the last ${formatDuration(lastMs)}`, ...rankingLines(tools)];
}

/** Writes a rate: few in tenths, many as a whole number. */
function rate(perMinute: number): string {
  return perMinute < 10
    ? String(Math.round(perMinute * 10) / 10)
    : Math.round(perMinute).toLocaleString('en');
}
