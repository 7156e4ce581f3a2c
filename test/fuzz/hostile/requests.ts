import { declaredRoutes } from "../../../src/reference/declared.ts";
import { Random } from "../../e2e/support/random.ts";
import type { FuzzStage } from "../stage.ts";
import { AttackedExchange, checkStatus } from "./attacked-exchange.ts";
import { hostileBody, hostileText, mutateText } from "./hostile-input.ts";
import { validObject, validValue } from "./valid-input.ts";

interface Request {
  method: string;
  path: string;
  body?: string;
}

/** Every endpoint except the operator's, who is trusted. */
const ROUTES = declaredRoutes().filter(({ access }) => access !== "OPERATOR");
const WITH_BODY = ROUTES.filter(({ body }) => body !== undefined);
/** Logging out would end the attack. */
const WITHOUT_BODY = ROUTES.filter(({ body, path }) => body === undefined && path !== "/auth/logout");

type AnyRoute = (typeof ROUTES)[number];

function pathOf(random: Random, { path, parameter }: AnyRoute): string {
  const sound = parameter === undefined ? "BTC-PERP" : String(validValue(random, parameter));
  return path.replace(/:\w+/, sound);
}

function* bodies(random: Random, count: number): Generator<Request> {
  for (let i = 0; i < count; i++) {
    // Half of them are orders.
    const route = i % 2 === 0 ? (WITH_BODY[0] as AnyRoute) : random.pick(WITH_BODY);
    const body = hostileBody(random, validObject(random, route.body as NonNullable<AnyRoute["body"]>));
    yield { method: route.method, path: pathOf(random, route), body };
  }
}

function* targets(random: Random, count: number): Generator<Request> {
  for (let i = 0; i < count; i++) {
    const route = random.pick(WITHOUT_BODY);
    const path = random.next() < 0.3 ? hostilePath(random, route) : pathOf(random, route);
    const query = hostileQuery(random, route);
    yield { method: route.method, path: query === "" ? path : `${path}?${query}` };
  }
}

const PIECES = [
  "/",
  "//",
  "%2f",
  "%00",
  "%",
  "%zz",
  "%ff",
  "..",
  ".",
  "?",
  "&",
  "=",
  "+",
  ";",
  ":",
  "~",
  "|",
  "\\",
  "x",
];

function hostilePath(random: Random, route: AnyRoute): string {
  if (route.parameter === undefined || random.next() < 0.5)
    return `/${mutateText(random, pathOf(random, route), PIECES)}`;
  return route.path.replace(/:\w+/, () => encode(random, hostileText(random)));
}

function hostileQuery(random: Random, route: AnyRoute): string {
  const fields = Object.entries(route.query === undefined ? {} : validObject(random, route.query));
  for (let times = random.between(0, 2); times > 0; times--) {
    const name = random.next() < 0.7 && fields.length > 0 ? random.pick(fields)[0] : hostileText(random);
    fields.push([name, hostileText(random)]);
  }
  if (fields.length > 0 && random.next() < 0.7) fields.shift();
  const query = fields.map(([name, value]) => `${encode(random, name)}=${encode(random, String(value))}`).join("&");
  return random.next() < 0.2 ? mutateText(random, query, PIECES) : query;
}

/** Encoded, or unencoded as far as node allows. */
function encode(random: Random, text: string): string {
  try {
    if (random.next() < 0.7) return encodeURIComponent(text);
  } catch {
    // Half of a surrogate pair.
  }
  return text;
}

/** Replaces bytes that node's client does not send: bytes.ts covers those. */
const plain = (path: string): string => path.replace(/[^\x21-\x7e]/g, "~").replaceAll("#", "~");

async function attack(
  inputs: (random: Random, count: number) => Generator<Request>,
  seed: number,
  runs: number,
  say: (line: string) => void,
): Promise<void> {
  await AttackedExchange.run(say, async (victim) => {
    const { alice } = victim.target;
    const accepted = await victim.sendAll(inputs(new Random(seed), runs), async (input) => {
      const answer = await alice.request(input.method, plain(input.path), input.body);
      checkStatus(answer, input);
      return answer.status < 300 && input.method !== "GET";
    });
    say(`${accepted} were accepted and did something, or had been done before`);
  });
}

export const BODIES: FuzzStage = {
  name: "bodies",
  runs: 50_000,
  run: (seed, runs, say) => attack(bodies, seed, runs, say),
};

export const TARGETS: FuzzStage = {
  name: "targets",
  runs: 25_000,
  run: (seed, runs, say) => attack(targets, seed, runs, say),
};
