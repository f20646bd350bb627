import { readFileSync } from 'node:fs';
import { protocolJsonSchema } from './json-schema.ts';
import { protocolTables, withTables } from './tables.ts';

/** A file of the repository that comes from the schemas and tables of this package, and the text that it should have. */
export interface ReferenceFile {
  url: URL;
  text: string;
}

/** Generates the files that describe the protocol to people and to other languages. */
export function referenceFiles(): ReferenceFile[] {
  const page = new URL('../../../docs/protocol/v1.md', import.meta.url);
  const schema = new URL('../../../docs/protocol/v1.schema.json', import.meta.url);
  return [
    { url: page, text: withTables(readFileSync(page, 'utf8'), protocolTables()) },
    { url: schema, text: `${JSON.stringify(protocolJsonSchema(), null, 2)}\n` },
  ];
}
