import type { Inventory } from '@signalbox/mcp-host';
import type { ClientForms } from '@signalbox/mcp-host/argument-check';
import type { UnshownReport } from '@signalbox/protocol';

/** The most tools that are named in one report. */
const maxNamed = 20;

/** Reports which listed tools of a server certain clients leave out or change, tools with the same client and reason together. */
export function unshownOf(
  server: string,
  { tools, origins }: Pick<Inventory, 'tools' | 'origins'>,
  clientForms: ClientForms,
): UnshownReport[] {
  const reports = new Map<string, UnshownReport>();
  for (const { name, inputSchema } of tools) {
    if (origins.get(name)?.server !== server) continue;
    for (const { client, how, why } of clientForms.of(inputSchema).unshown) {
      const key = JSON.stringify([client, how, why]);
      const report = reports.get(key) ?? { client, how, why, tools: [], count: 0 };
      reports.set(key, report);
      report.count++;
      if (report.tools.length < maxNamed) report.tools.push(name);
    }
  }
  return [...reports.values()];
}
