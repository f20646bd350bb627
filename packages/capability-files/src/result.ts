import type { Capability } from './capability.ts';
import type { Provider } from './provider.ts';
import { valueAt } from './response-path.ts';
import { isRecord, type Reading } from './service.ts';
import { textOf } from './template.ts';

const longestRefusal = 4_000;

/** A reading in MCP's shape, or why there is none. */
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
  if ('text' in reading)
    return outputCheck ? { result: misshapen(host, reading.text) } : { result: textResult(reading.text) };
  const value = responsePath ? valueAt(reading.value, responsePath) : reading.value;
  if (value === undefined) return { unusable: `the answer of ${host} has nothing at its response_path` };
  const text = textOf(value);
  if (!isRecord(value)) return { result: outputCheck ? misshapen(host, text) : textResult(text) };
  const checked = outputCheck?.check(value);
  if (checked && ('error' in checked || checked.coerced.length > 0)) return { result: misshapen(host, text) };
  return { result: { ...textResult(text), structuredContent: value } };
}

/** An answer that a model can act on, but not use. */
export function refusal(text: string): Record<string, unknown> {
  const shown = text.length > longestRefusal ? `${text.slice(0, longestRefusal).toWellFormed()}…` : text;
  return { ...textResult(shown), isError: true };
}

/** A result that broke its own promise would be refused by its reader, without a word of what it said. */
function misshapen(host: string, text: string): Record<string, unknown> {
  return refusal(`the answer of ${host} is not what schema.output of this tool promises: ${text}`);
}

function textResult(text: string): Record<string, unknown> {
  return { content: [{ type: 'text', text }] };
}
