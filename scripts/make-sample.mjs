// Makes examples/sharegpt-sample.json: own text in the shape of ShareGPT (conversations of human and gpt turns), with lengths
// spread as in real chats: short questions, a few pasted documents, answers from a line to several paragraphs. The same seed
// gives the same file: node scripts/make-sample.mjs
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const CONVERSATIONS = 525;
let state = 20_260_801;

/** Next number in [0, 1) of a small generator (mulberry32): enough for a sample text, and the same everywhere. */
function random() {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
}

const pick = (list) => list[Math.floor(random() * list.length)];
const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
/** Log-normal whole number: median, spread, bounds. */
const length = (median, spread, low, high) =>
  Math.round(Math.min(high, Math.max(low, median * Math.exp(spread * normal()))));

const words = (text) => text.trim().split(/\s+/);
const things = words(`garden kitchen budget library harbour orchestra timetable recipe database bicycle telescope
  newsletter workshop calendar greenhouse warehouse museum lighthouse printer keyboard vineyard bakery railway river
  mountain festival classroom laboratory insurance contract invoice playlist algorithm spreadsheet firewall compiler
  battery sensor thermostat antenna microscope beehive orchard pottery violin novel poem translation glossary survey
  questionnaire interview presentation logbook checklist inventory shipment ferry tunnel bridge canal roof staircase
  window carpet lantern umbrella backpack passport ticket hostel campsite trail meadow forest glacier island beach`);
const qualities = words(`small large quiet busy reliable cheap portable modern ancient simple complicated seasonal local
  shared private fragile sturdy colourful noisy efficient wasteful flexible rigid early late annual weekly temporary
  permanent unusual ordinary careful hasty honest practical theoretical detailed rough accurate approximate`);
const actions =
  words(`plan repair describe compare measure organise paint move share clean extend simplify document test
  replace combine divide schedule review improve protect translate summarise rewrite explain estimate negotiate prepare
  water harvest assemble calibrate configure debug archive restore insulate ventilate label sort photograph`);
const people = words(`neighbour teacher manager engineer librarian gardener cook sailor student nurse designer architect
  musician editor accountant mechanic pharmacist carpenter volunteer visitor colleague grandmother`);
const linkers = [
  'First',
  'Then',
  'After that',
  'In most cases',
  'As a rule',
  'On the other hand',
  'For example',
  'In practice',
  'Later',
  'If time allows',
  'Before you start',
  'To be safe',
  'In the end',
  'Most of the time',
];

const a = (word) => `${/^[aeiou]/.test(word) ? 'an' : 'a'} ${word}`;
const thing = () => `${pick(qualities)} ${pick(things)}`;
const capital = (text) => text[0].toUpperCase() + text.slice(1);

const questions = [
  () => `How do I ${pick(actions)} ${a(thing())}?`,
  () => `What should ${a(pick(people))} know before trying to ${pick(actions)} the ${pick(things)}?`,
  () => `Write a short letter from ${a(pick(people))} to ${a(pick(people))} about the ${thing()}.`,
  () => `Give me ${2 + Math.floor(random() * 8)} ideas for ${a(thing())}.`,
  () => `Why is ${a(thing())} better than ${a(thing())}?`,
  () => `Can you ${pick(actions)} this for me: the ${pick(things)} next to the ${thing()}?`,
  () => `Make a table of the steps to ${pick(actions)} ${a(pick(things))} and who does them.`,
];
const sentences = [
  () => `${pick(linkers)}, ${pick(actions)} the ${pick(things)} and ${pick(actions)} the ${thing()}.`,
  () =>
    `${capital(a(pick(people)))} can ${pick(actions)} ${a(thing())} in about ${2 + Math.floor(random() * 50)} minutes.`,
  () =>
    `The ${pick(things)} has to be ${pick(qualities)}, because the ${pick(things)} beside it is ${pick(qualities)}.`,
  () => `${pick(linkers)}, ask ${a(pick(people))} whether the ${pick(things)} is ${pick(qualities)} enough.`,
  () =>
    `It costs between ${10 + Math.floor(random() * 90)} and ${100 + Math.floor(random() * 900)} euros to ${pick(actions)} ${a(pick(things))}.`,
  () => `Nobody needs ${a(thing())} when the ${pick(people)} is able to ${pick(actions)} the old one.`,
  () =>
    `${pick(linkers)}, keep the ${pick(things)} away from the ${thing()}, and ${pick(actions)} it again the next day.`,
];

/** Text of about `target` words, in paragraphs or as a numbered list. */
function prose(target) {
  const isList = target > 60 && random() < 0.3;
  const parts = [];
  let count = 0;
  while (count < target) {
    const paragraph = [];
    const size = isList ? 1 : 2 + Math.floor(random() * 5);
    for (let i = 0; i < size && count < target; i++) {
      const sentence = pick(sentences)();
      count += sentence.split(' ').length;
      paragraph.push(sentence);
    }
    parts.push(isList ? `${parts.length + 1}. ${paragraph.join(' ')}` : paragraph.join(' '));
  }
  return parts.join(isList ? '\n' : '\n\n');
}

/** What a human says: mostly a question, now and then with a pasted text below it. */
function prompt() {
  const text = [pick(questions)()];
  if (random() < 0.35) text.push(pick(sentences)());
  if (random() < 0.22) return `${text.join(' ')}\n\n${prose(length(100, 0.8, 30, 500))}`;
  return text.join(' ');
}

const conversations = [];
for (let i = 0; i < CONVERSATIONS; i++) {
  const turns = [];
  const pairs = 1 + Math.min(3, Math.floor(-Math.log(1 - random()) * 0.6));
  for (let turn = 0; turn < pairs; turn++) {
    turns.push({ from: 'human', value: prompt() });
    // Only the first two turns make a request; the rest is there because real files have it.
    turns.push({ from: 'gpt', value: prose(turn === 0 ? length(84, 0.8, 4, 600) : length(14, 0.6, 4, 60)) });
  }
  conversations.push({ id: `sample-${String(i).padStart(3, '0')}`, conversations: turns });
}
// One conversation per line: readable in a diff, and shorter than indented JSON.
const lines = conversations.map((conversation) => JSON.stringify(conversation));
const file = fileURLToPath(new URL('../examples/sharegpt-sample.json', import.meta.url));
await writeFile(file, `[\n${lines.join(',\n')}\n]\n`);
