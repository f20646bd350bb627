import { jsonRpcHead, plainIdPattern } from '@signalbox/protocol/json-lines';

/** The `id` and the `method` of a JSON-RPC message, if it has them. */
export type MessageHead = ReturnType<typeof jsonRpcHead>;

const id = `"id":(${plainIdPattern})`;
const version = String.raw`"jsonrpc":"2\.0"`;
const method = String.raw`"method":"([^"\\\u0000-\u001f]{0,256})"`;

/** Matches a message that begins with the id and the member that makes it a request or an answer. */
const idFirst = new RegExp(String.raw`^\{(?:${version},)?${id},(?:${method}|"(?:result|error)":)`);
/** Matches a message that begins with the member that makes it a request or an answer; its id is the last member and may be far behind. */
const kindFirst = new RegExp(String.raw`^\{(?:${version},)?(?:${method},|"(?:result|error)":)`);
const idLast = new RegExp(String.raw`,${id}\}$`);
/** The longest id that {@link idLast} finds, in characters. */
const longestEnd = 300;

/**
 * Reads the head of a message on one line. The usual orders of the members are read at both ends of the line, all others member by
 * member, which takes much longer.
 */
export function messageHead(line: string): MessageHead {
  const first = idFirst.exec(line);
  if (first) return headOf(first[1]!, first[2]);
  const kind = kindFirst.exec(line);
  const last = kind && idLast.exec(line.slice(-longestEnd));
  return last ? headOf(last[1]!, kind[1]) : jsonRpcHead(line);
}

function headOf(idText: string, name: string | undefined): MessageHead {
  return { id: JSON.parse(idText) as string | number, ...(name !== undefined && { method: name }) };
}
