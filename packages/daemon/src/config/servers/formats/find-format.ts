import { nearestName } from '@signalbox/protocol/internal';
import type { ClientFormat } from './client-format.ts';
import { clientFormats } from './client-formats.ts';

/** A reason why the format of a file is not known. `lacksServers` is true if nothing in the file looks like servers. */
interface NoFormat {
  problem: string;
  lacksServers: boolean;
}

/** Returns the format of a file that is always of one format, by its path. */
export function formatOfPath(file: string): ClientFormat | undefined {
  return clientFormats.find((format) => format.file?.test(file));
}

/** Finds the format of a file by its path and the object in it that holds the servers. */
export function findFormat(file: string, root: unknown): ClientFormat | NoFormat {
  const keys = typeof root === 'object' && root !== null && !Array.isArray(root) ? Object.keys(root) : [];
  const ofFile = formatOfPath(file);
  if (ofFile) {
    const { clients, section } = ofFile;
    return keys.includes(section)
      ? ofFile
      : { problem: `holds no '${section}', as ${clients} writes it`, lacksServers: true };
  }
  const found = clientFormats.filter((format) => !format.file && keys.includes(format.section));
  // Clients with mcpServers keep other settings under mcp.
  const [format, other] = found.filter(({ section }) => section !== 'mcp' || found.length === 1);
  if (!format) return { problem: unknownFormat(keys), lacksServers: true };
  const unclear = (problem: string): NoFormat => ({ problem, lacksServers: false });
  if (other) return unclear(`holds both '${format.section}' and '${other.section}'; keep one of the two`);
  const isOlder = format.section === 'mcp' && Object.keys(Object(Object(root).mcp)).includes('servers');
  return isOlder
    ? unclear("holds the servers under 'mcp', as older versions of VS Code do: name FILE#/mcp")
    : format;
}

function unknownFormat(keys: readonly string[]): string {
  const sections = [...new Set(clientFormats.map(({ section }) => section))];
  const near = keys.map((key) => nearestName(key, sections)).find((name) => name !== undefined);
  const nearest = clientFormats.find(({ section, file }) => !file && section === (near ?? 'mcpServers'));
  return `unknown format; nearest: '${nearest?.section}' (${nearest?.clients}); it holds none of ${sections.map((name) => `'${name}'`).join(', ')}`;
}
