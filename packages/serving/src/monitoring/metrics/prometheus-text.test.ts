import { describe, expect, it } from 'vitest';
import { Counter } from './counter.ts';
import { Histogram, LabelledHistogram } from './histogram.ts';
import { gauge } from './metric-family.ts';
import { prometheusText } from './prometheus-text.ts';

describe('the text for Prometheus', () => {
  it('has help, type and values, with what is special in it escaped', () => {
    const info = { name: 'signalbox_up', help: 'Up\nor \\ down.', labels: ['role'] };
    const samples = [
      [['wor"ker\n\\'], 1.5],
      [['x'], Number.POSITIVE_INFINITY],
    ] as const;
    expect(prometheusText([gauge(info, samples)])).toBe(
      '# HELP signalbox_up Up\\nor \\\\ down.\n' +
        '# TYPE signalbox_up gauge\n' +
        'signalbox_up{role="wor\\"ker\\n\\\\"} 1.5\n' +
        'signalbox_up{role="x"} +Inf\n',
    );
  });

  it('tells of a counter that counted nothing, and of one label among two', () => {
    const plain = new Counter({ name: 'a_total', help: 'A.' });
    const labelled = new Counter({ name: 'b_total', help: 'B.', labels: ['kind', 'outcome'] });
    labelled.add('ask', 'acked');
    labelled.add('ask', 'acked');
    labelled.add('ask', 'dead', 3);
    expect(prometheusText([plain.collect(), labelled.collect()])).toBe(
      '# HELP a_total A.\n# TYPE a_total counter\na_total 0\n' +
        '# HELP b_total B.\n# TYPE b_total counter\n' +
        'b_total{kind="ask",outcome="acked"} 2\nb_total{kind="ask",outcome="dead"} 3\n',
    );
  });

  it('has cumulative buckets, whose last one holds everything', () => {
    const histogram = new Histogram({ name: 'h_seconds', help: 'H.' }, [0.1, 1]);
    for (const value of [0.1, 0.2, 7]) histogram.observe(value);
    expect(prometheusText([histogram.collect()]).split('\n').slice(2, -1)).toEqual([
      'h_seconds_bucket{le="0.1"} 1',
      'h_seconds_bucket{le="1"} 2',
      'h_seconds_bucket{le="+Inf"} 3',
      'h_seconds_sum 7.3',
      'h_seconds_count 3',
    ]);
  });

  it('has no more series than the bound and one for all the rest, however many names clients make up', () => {
    const counter = new Counter({ name: 'c_total', help: 'C.', labels: ['kind'] }, 2);
    const histogram = new LabelledHistogram({ name: 'l', help: 'L.', labels: ['server', 'tool'] }, [1], 2);
    for (let i = 0; i < 100; i++) {
      counter.add(`k${i}`);
      histogram.observe(['s', `t${i}`], 1);
    }
    expect(counter.collect().samples).toEqual([
      [['k0'], 1],
      [['k1'], 1],
      [['other'], 98],
    ]);
    expect(prometheusText([histogram.collect()])).toMatch(
      /tool="t0"\} 1\n[\s\S]*tool="t1"\} 1\n[\s\S]*server="other",tool="other"\} 98\n$/,
    );
  });

  it('keeps the values of a label that has few of them apart among the rest, so that what went well is no error', () => {
    const labels = ['tool', 'outcome'];
    const histogram = new LabelledHistogram({ name: 'l', help: 'L.', labels }, [1], 2, ['outcome']);
    for (let i = 0; i < 100; i++) histogram.observe([`t${i}`, i % 10 === 9 ? 'tool_error' : 'ok'], 1);
    expect(histogram.collect().samples).toEqual([
      [['t0', 'ok'], [1, 0], 1],
      [['t1', 'ok'], [1, 0], 1],
      [['other', 'ok'], [88, 0], 88],
      [['other', 'tool_error'], [10, 0], 10],
    ]);
  });
});
