// What people and models say in the tenant of the pictures, and the vendor's scripts that make the models say it.
import type { Script, SeenRequest } from '../servers/vendors/vendor-server.js';

export interface Talk {
  readonly person: string;
  readonly key: string;
  readonly question: string;
  /** Tools that the model calls, one after the other, before it answers. */
  readonly calls?: readonly (readonly [tool: string, args: object])[];
  readonly answer: string;
  readonly agent: 'concierge' | 'billing';
}

export const talks: readonly Talk[] = [
  {
    person: 'Ada Moreno',
    key: 'crm:20418',
    agent: 'concierge',
    question: 'Where is my booking for Lisbon? I have no confirmation yet.',
    calls: [['find_booking', { reference: 'HT-20418' }]],
    answer:
      'Your booking **HT-20418** is confirmed: Lisbon, 12 to 16 December, two guests in the *Hotel Almada*.\n\nThe confirmation went to your old address. I have sent it again, and it is in your inbox within a minute.',
  },
  {
    person: 'Ben Okafor',
    key: 'crm:20377',
    agent: 'concierge',
    question: 'Can I bring a bicycle on the night ferry to Palma?',
    calls: [['find_booking', { reference: 'HT-20377' }]],
    answer:
      'Yes. A bicycle costs 15 € on the night ferry, and you bring it on board yourself:\n\n- Be at **Pier 4** by 21:15\n- Remove bags and batteries\n- Racks are on deck 3\n\nShall I add it to your booking?',
  },
  {
    person: 'Chen Wei',
    key: 'crm:20391',
    agent: 'billing',
    question: 'The invoice shows three nights instead of two.',
    calls: [['find_invoice', { number: '2026-1183' }]],
    answer:
      'You are right. Invoice **2026-1183** has three nights, the booking has two. A corrected invoice over 418.00 € is on its way, and the difference of 209.00 € is back on your card within three days.',
  },
  {
    person: 'Dana Novak',
    key: 'crm:20402',
    agent: 'concierge',
    question: 'Which terminal does the night train leave from?',
    answer:
      'The night train to Vienna leaves from **platform 9**, in the southern hall. Boarding begins at 22:05, and the doors close at 22:28.',
  },
  {
    person: 'Emil Larsen',
    key: 'crm:20360',
    agent: 'concierge',
    question: 'Please move my trip to the 14th, both of us.',
    calls: [
      ['find_booking', { reference: 'HT-20360' }],
      ['check_rooms', { hotel: 'Almada', from: '2026-12-14', nights: 4, guests: 2 }],
    ],
    answer:
      'Done. Your trip now begins on **14 December**, in the same room. There is no extra charge, and the new confirmation is in your mailbox.',
  },
  {
    person: 'Fatima Zahra',
    key: 'crm:20433',
    agent: 'concierge',
    question: 'Is breakfast included, and is there something vegan?',
    answer:
      'Breakfast is included, from 7:00 to 10:30. There is a vegan counter every day, and oat and soy milk at the bar.',
  },
  {
    person: 'Giulia Rossi',
    key: 'crm:20388',
    agent: 'billing',
    question: 'May I pay half now and half at the hotel?',
    answer:
      'Yes. Half is due now, the rest at check-in, by card or in cash. I have sent you a link for the first half.',
  },
  {
    person: 'Hiro Tanaka',
    key: 'crm:20419',
    agent: 'concierge',
    question: 'My flight is late. Who opens the apartment after midnight?',
    calls: [['find_booking', { reference: 'HT-20419' }]],
    answer:
      'Do not worry: the key box beside the door opens with **4815** until 6:00. I have told the host that you come late.',
  },
  {
    person: 'Ines Duarte',
    key: 'crm:20405',
    agent: 'concierge',
    question: 'How do we get from the airport to the hotel with two children?',
    answer:
      'The easiest way is the shuttle: every 20 minutes from exit B, 25 minutes, children ride free. Child seats are there if you ask the driver.',
  },
  {
    person: 'Jonas Weber',
    key: 'crm:20371',
    agent: 'billing',
    question: 'I need the invoice with our VAT number DE811234567.',
    calls: [['find_invoice', { number: '2026-1170' }]],
    answer: 'Invoice **2026-1170** now has your VAT number. The new PDF is in your account, under Invoices.',
  },
];

/** This one asks for money: the agent waits for a person. */
export const refund = {
  person: 'Kofi Mensah',
  key: 'crm:20427',
  question: 'The ferry was cancelled. I want my 240 € back, please.',
  call: [
    'refund_payment',
    { booking: 'HT-20427', amount: 240, currency: 'EUR', reason: 'ferry cancelled' },
  ] as const,
};

export const handoff = {
  person: 'Lena Fischer',
  key: '351912345678',
  question: 'This is the third time that I write. I want to talk to a person.',
  answer: 'I understand. I am passing you on to my colleagues; somebody writes to you here in a few minutes.',
  manual:
    'Hello Lena, this is Marta. I am sorry for the back and forth. I have your booking in front of me and call you at 15:00, if that suits you?',
};

const digest =
  'Three themes this week: late arrivals (41 %), invoices (22 %) and luggage on ferries (17 %). Satisfaction is up by four points.';

const words = (text: string): readonly string[] => text.match(/\S+\s*/g) ?? [];

interface SeenMessage {
  readonly role: string;
  readonly content?: unknown;
}

const textOf = (content: unknown): string =>
  typeof content === 'string' ? content : JSON.stringify(content ?? '');

/** What the model answers to a request, word by word. */
export function decide({ body }: SeenRequest): Script {
  const messages = (body['messages'] ?? []) as readonly SeenMessage[];
  const isFrom = (role: string) => (message: SeenMessage) => message.role === role;
  const asked = textOf(messages.findLast(isFrom('user'))?.content);
  const sinceAsked = messages.slice(messages.findLastIndex(isFrom('user')) + 1);
  const done = sinceAsked.filter(isFrom('tool')).length;
  const say = (text: string): Script => ({ pieces: words(text), pieceDelayMs: 6 });
  const call = ([name, args]: readonly [string, object]): Script => ({
    pieces: [],
    toolCalls: [{ id: `call_${name}_${done}`, name, args: [JSON.stringify(args)] }],
  });
  if (asked.includes(refund.question))
    return done === 0 ? call(refund.call) : say('Your 240 € are on their way back to your card.');
  if (asked.includes(handoff.question)) return say(handoff.answer);
  // Some calls fail, as they do.
  if (/hotel \d+3[17]\./.test(asked)) return { status: 400, message: 'The request is too long.' };
  const talk = talks.find(({ question }) => asked.includes(question));
  if (/stop in Porto|tickets by post/.test(asked)) return say('Noted. The booking is changed.');
  const next = talk?.calls?.[done];
  if (next !== undefined) return call(next);
  return say(talk?.answer ?? digest);
}
