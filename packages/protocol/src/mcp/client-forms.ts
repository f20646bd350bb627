import { isJsonObject } from '../wire/parse-json.ts';
import type { Tool } from './tool.ts';

/** The key of a tool's `_meta` that holds the forms of its input schema for certain clients, by the beginnings of the clients' names. */
const formsKey = 'signalbox/client_forms';

/** Forms of an input schema by the beginnings of the names that clients give themselves. */
export type ClientFormsOfTool = Readonly<Record<string, Tool['inputSchema']>>;

/** Adds the forms in which certain clients are shown a tool. A value from the server itself is removed. */
export function withClientForms(tool: Tool, forms: ClientFormsOfTool): Tool {
  const plain = withoutForms(tool);
  if (Object.keys(forms).length === 0) return plain;
  return { ...plain, _meta: { ...plain._meta, [formsKey]: forms } };
}

/** Returns a tool as a client is shown it: with the input schema in the form for that client, if there is one. */
export function toolForClient(tool: Tool, client: string | undefined): Tool {
  const forms = tool._meta?.[formsKey];
  if (forms === undefined) return tool;
  const plain = withoutForms(tool);
  const [, form] = isJsonObject(forms)
    ? (Object.entries(forms).find(([name]) => client?.startsWith(name)) ?? [])
    : [];
  return isJsonObject(form) ? { ...plain, inputSchema: form as Tool['inputSchema'] } : plain;
}

function withoutForms(tool: Tool): Tool {
  if (tool._meta?.[formsKey] === undefined) return tool;
  const { [formsKey]: _forms, ...meta } = tool._meta;
  const { _meta, ...rest } = tool;
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta };
}
