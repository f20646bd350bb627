import { expect, test } from 'vitest';
import { addresseeOf, type ServerQuestion } from './addressee.ts';

const question: ServerQuestion = { method: 'elicitation/create', params: {} };
const able = (agent: string) => ({ agent, askable: { elicitation: { form: {} } } });
const unable = (agent: string) => ({ agent, askable: {} });
const own = { isShared: false, givenUpBy: [] };
const shared = { isShared: true, givenUpBy: [] };

test('Without a call nobody is asked, in a shared instance or not.', () => {
  expect(addresseeOf(question, [], own)).toBe('no_call');
  expect(addresseeOf(question, [], shared)).toBe('no_call');
});

test('In a shared instance an agent is asked only while no call of another one runs, whether that could be asked or not.', () => {
  const call = able('rosa');
  expect(addresseeOf(question, [call], shared)).toBe(call);
  expect(addresseeOf(question, [call, able('walt')], shared)).toBe('several_agents');
  expect(addresseeOf(question, [call, unable('walt')], shared)).toBe('several_agents');
  expect(addresseeOf(question, [call, unable('rosa')], shared)).toBe(call);
  expect(addresseeOf(question, [unable('rosa')], shared)).toBe('not_able');
});

test('A call that another agent gave up lately may be what the question is about, so that nobody is asked.', () => {
  const call = able('rosa');
  expect(addresseeOf(question, [call], { isShared: true, givenUpBy: ['walt'] })).toBe('earlier_call');
  expect(addresseeOf(question, [call], { isShared: true, givenUpBy: ['rosa'] })).toBe(call);
  expect(addresseeOf(question, [call], { isShared: false, givenUpBy: ['rosa'] })).toBe(call);
});

test('An instance of one agent asks the newest call whose client can answer.', () => {
  const [first, second] = [able('rosa'), able('rosa')];
  expect(addresseeOf(question, [first, second], own)).toBe(second);
  expect(addresseeOf(question, [first, unable('rosa')], own)).toBe(first);
  expect(addresseeOf(question, [unable('rosa')], own)).toBe('not_able');
});
