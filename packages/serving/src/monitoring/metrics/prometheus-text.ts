import type { MetricFamily } from './metric-family.ts';

/** The media type of the text that {@link prometheusText} writes. */
export const prometheusType = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * Writes metrics in Prometheus' text format 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format).
 */
export function prometheusText(families: Iterable<MetricFamily>): string {
  let text = '';
  for (const family of families) {
    text += `# HELP ${family.name} ${escapeHelp(family.help)}\n# TYPE ${family.name} ${family.type}\n`;
    text += family.type === 'histogram' ? histogramLines(family) : valueLines(family);
  }
  return text;
}

function valueLines({
  name,
  labels = [],
  samples,
}: Extract<MetricFamily, { type: 'counter' | 'gauge' }>): string {
  let text = '';
  for (const [values, value] of samples) text += `${name}${braced(pairs(labels, values))} ${figure(value)}\n`;
  return text;
}

function histogramLines({
  name,
  labels = [],
  buckets,
  samples,
}: Extract<MetricFamily, { type: 'histogram' }>): string {
  let text = '';
  for (const [values, counts, sum] of samples) {
    const own = pairs(labels, values);
    let total = 0;
    for (const [at, count] of counts.entries()) {
      total += count;
      const bound = at < buckets.length ? figure(buckets[at]!) : '+Inf';
      text += `${name}_bucket${braced([...own, `le="${bound}"`])} ${figure(total)}\n`;
    }
    text += `${name}_sum${braced(own)} ${figure(sum)}\n${name}_count${braced(own)} ${figure(total)}\n`;
  }
  return text;
}

function pairs(names: readonly string[], values: readonly string[]): string[] {
  return names.map((name, at) => `${name}="${escapeValue(values[at] ?? '')}"`);
}

function braced(labels: readonly string[]): string {
  return labels.length === 0 ? '' : `{${labels.join(',')}}`;
}

function figure(value: number): string {
  if (Number.isFinite(value)) return String(value);
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? '+Inf' : '-Inf';
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function escapeValue(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}
