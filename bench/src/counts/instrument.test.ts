import { stripTypeScriptTypes } from 'node:module';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { enteredName } from './counts.ts';
import { instrumented } from './instrument.ts';

const source = `function declared(n: number): number { return n; }
const arrow = (n: number): number => n as number;
const object = () => ({ one: 1 });
const nested = (a: number) => (b: number) => a + b;
const lines = (n = declared(4)) =>
  n;
function overloaded(a: string): string;
function overloaded(a: unknown): unknown { return a; }
function* numbers() { yield 1; }
abstract class Base {
  abstract missing(): void;
  get size(): number { return 1; }
  static make = () => 2;
}
class Derived extends Base {
  constructor() { super(); }
  missing(): void {}
  #own() { return this.size; }
  own(): number { return this.#own(); }
}
[arrow(1), object().one, nested(1)(2), lines(), overloaded('a'), ...numbers(), Base.make(), new Derived().own()].join();
`;

test('Every form of function names its file when it is entered, once, and does what it did; no line moves.', () => {
  const plain = stripTypeScriptTypes(source);
  const code = instrumented(plain, 'some.ts');
  const entered: string[] = [];
  expect(runInNewContext(code, { [enteredName]: (file: string) => entered.push(file) })).toBe(
    runInNewContext(plain),
  );
  expect(entered).toEqual(Array.from({ length: 13 }, () => 'some.ts'));
  expect(code.split('\n')).toHaveLength(source.split('\n').length);
});

test('A source that cannot be parsed is named.', () => {
  expect(() => instrumented('function (', 'some.ts')).toThrow(/^some\.ts: /);
});
