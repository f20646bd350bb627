import { isJsonObject } from '@signalbox/protocol';
import type { Capability } from '../document/compile-capability.ts';
import type { Provider } from '../document/compile-provider.ts';
import type { Reading } from '../services/service.ts';
import { textOf } from '../templates/template.ts';
import { valueAt } from '../templates/value-path.ts';

const longestRefusal = 4_000;

/** Returns the content of an answer as an MCP result, or the reason why it can't be one. */
export function resultOf(
  reading: Reading,
  { host, responsePath }: Provider,
  { outputCheck }: Pick<Capability, 'outputCheck'>,
): { result: Record<string, unknown> } | { unusable: string } {
  if ('unusable' in reading) return { unusable: `${host} ${reading.unusable}` };
  if ('refusal' in reading) {
    const partial = 'value' in reading ? `\npartial data: ${textOf(reading.value)}` : '';
    return { result: refusal(`${reading.refusal}${partial}`) };
  }
  if ('text' in reading) {
    return { result: outputCheck ? misshapen(host, reading.text) : textResult(reading.text) };
  }
  const value = responsePath ? valueAt(reading.value, responsePath) : reading.value;
  if (value === undefined) return { unusable: `the answer of ${host} has nothing at its response_path` };
  const text = textOf(value);
  if (!isJsonObject(value)) return { result: outputCheck ? misshapen(host, text) : textResult(text) };
  const checked = outputCheck?.check(value);
  if (checked && ('error' in checked || checked.coerced.length > 0)) return { result: misshapen(host, text) };
  return { result: { ...textResult(text), structuredContent: value } };
}

/** Returns an MCP result that tells a model why the service refused the call. */
export function refusal(text: string): Record<string, unknown> {
  const shown = text.length > longestRefusal ? `${text.slice(0, longestRefusal).toWellFormed()}…` : text;
  return { ...textResult(shown), isError: true };
}

/**
 * Returns the result for an answer that breaks `schema.output`. Clients would refuse it as a structured result, so the model gets it as the
 * text of an error.
 */
function misshapen(host: string, text: string): Record<string, unknown> {
  return refusal(`the answer of ${host} is not what schema.output of this tool promises: ${text}`);
}

function textResult(text: string): Record<string, unknown> {
  return { content: [{ type: 'text', text }] };
}
