import { ownNames } from '../peers/signalbox.ts';
import type { Benchmarks, CallsReport, Circumstances, MessagesReport } from './benchmarks.ts';

interface Bar {
  label: string;
  value: number;
  isOurs: boolean;
  isFsynced: boolean;
}

interface Panel {
  title: string;
  unit: 'per second' | 'ms';
  bars: Bar[];
}

const width = 860;
const labelWidth = 290;
const barWidth = 440;
const lineHeight = 24;
const colours = { ours: ['#9cc3f5', '#1f6feb'], theirs: ['#c9ced6', '#6e7781'] } as const;

/** Bars for the short messages and the proxied calls, best first. The background is part of it, for dark pages. */
export function asSvg({ messages, calls }: Pick<Benchmarks, 'messages' | 'calls'>): string {
  const panels = [...messagePanels(messages), ...callPanels(calls)].filter(({ bars }) => bars.length > 0);
  let y = 66;
  const parts = panels.map((panel) => {
    const drawn = drawPanel(panel, y);
    y += 40 + panel.bars.length * lineHeight + 16;
    return drawn;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" width="${width}" height="${y}" role="img" aria-label="Benchmarks" font-family="system-ui, sans-serif" font-size="13">
<rect width="${width}" height="${y}" rx="8" fill="#ffffff"/>
<text x="20" y="30" font-size="16" font-weight="600" fill="#1f2328">${escaped(titleOf([messages, calls].filter((section) => section !== undefined)))}</text>
${legend()}
${parts.join('\n')}
</svg>
`;
}

function titleOf(sections: Circumstances[]): string {
  return [...new Set(sections.map(({ date, machine }) => `${date}: ${machine}`))].join('; ');
}

function messagePanels(report: MessagesReport | undefined): Panel[] {
  if (!report) return [];
  const bars = (workload: string, of: 'perSecond' | 'p50Ms'): Bar[] =>
    report.rows
      .filter((row) => row.workload === workload)
      .map((row) => ({
        label: report.peers.find(({ name }) => name === row.peer)?.title ?? row.peer,
        value: row[of],
        isOurs: ownNames.includes(row.peer),
        isFsynced: row.receiptMeans === 'fsynced',
      }));
  const rate = (title: string, workload: string): Panel => ({
    title: `${title}, 300 B, 64 in flight: per second (more is better)`,
    unit: 'per second',
    bars: bars(workload, 'perSecond').sort((a, b) => b.value - a.value),
  });
  return [
    rate('Durable request/reply', 'request/64/300B'),
    {
      title: 'Durable request/reply, 300 B, 1 in flight: median latency (less is better)',
      unit: 'ms',
      bars: bars('request/1/300B', 'p50Ms').sort((a, b) => a.value - b.value),
    },
    rate('Enqueue with receipt', 'enqueue/64/300B'),
    rate('Enqueue → consume → ack', 'consume/64/300B'),
  ];
}

function callPanels(report: CallsReport | undefined): Panel[] {
  if (!report) return [];
  const bars = (over: 'stdio' | 'http'): Bar[] =>
    report.rows
      .filter((row) => row.part === 'compared' && row.inFlight === 1 && row.over === over)
      .map(({ name, title, p50Ms }) => {
        const isOurs = name.startsWith('signalbox');
        return { label: title, value: p50Ms, isOurs, isFsynced: isOurs };
      })
      .sort((a, b) => a.value - b.value);
  const panel = (over: 'stdio' | 'http', words: string): Panel => ({
    title: `MCP tools/call over ${words}, 1 in flight: median latency (less is better)`,
    unit: 'ms',
    bars: bars(over),
  });
  return [panel('stdio', 'stdio'), panel('http', 'HTTP')];
}

function drawPanel({ title, unit, bars }: Panel, top: number): string {
  const longest = Math.max(...bars.map(({ value }) => value));
  const lines = bars.map(({ label, value, isOurs, isFsynced }, i) => {
    const y = top + 40 + i * lineHeight;
    const length = Math.max(1, (value / longest) * barWidth);
    const colour = colours[isOurs ? 'ours' : 'theirs'][isFsynced ? 1 : 0];
    const figure = unit === 'ms' ? `${value.toFixed(2)} ms` : Math.round(value).toLocaleString('en');
    return `<text x="${labelWidth}" y="${y}" text-anchor="end" fill="#1f2328">${escaped(label)}</text>
<rect x="${labelWidth + 8}" y="${y - 13}" width="${length.toFixed(1)}" height="17" rx="2" fill="${colour}"/>
<text x="${(labelWidth + 14 + length).toFixed(1)}" y="${y}" fill="#59636e">${figure}</text>`;
  });
  return `<text x="20" y="${top + 16}" font-weight="600" fill="#1f2328">${escaped(title)}</text>\n${lines.join('\n')}`;
}

function legend(): string {
  const entries = [
    { colour: colours.ours[1], text: 'Signalbox, fsynced' },
    { colour: colours.ours[0], text: 'Signalbox, written' },
    { colour: colours.theirs[1], text: 'others, fsynced' },
    { colour: colours.theirs[0], text: 'others, written or not stored' },
  ];
  return entries
    .map(({ colour, text }, i) => {
      const x = 20 + i * 180;
      return `<rect x="${x}" y="42" width="12" height="12" rx="2" fill="${colour}"/><text x="${x + 18}" y="53" fill="#59636e">${text}</text>`;
    })
    .join('\n');
}

function escaped(text: string): string {
  return text.replaceAll('`', '').replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
