import assert from "node:assert/strict";
import { test } from "node:test";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { addressLines, keyLines } from "../../../src/client/approval.ts";
import { Done, Refused, SessionView, WithdrawalAddressesView } from "../../../src/core/protocol/replies.ts";
import { Approvals } from "../../../src/front/auth/approvals.ts";
import { Wallets } from "../../../src/front/auth/wallet.ts";
import { WalletSignatures } from "../../../src/front/auth/wallet-signature.ts";
import { ApiError } from "../../../src/front/common/errors.ts";
import { createKeyRoute, loginRoute } from "../../../src/front/routes/auth.ts";
import { addWithdrawalAddressRoute } from "../../../src/front/routes/withdrawal-addresses.ts";
import { type Context, Symbols } from "../../../src/front/routing/context.ts";
import type { Route } from "../../../src/front/routing/route.ts";
import recoverAddress from "../../../workers/compute.ts";
import { make, ScriptedEngine } from "../support/scripted-engine.ts";

const alice = privateKeyToAccount(generatePrivateKey());
const ACCOUNT = 16;

/** An exchange whose ledger the test plays. `isCrowded`: the address of the client has opened too many accounts. */
function open() {
  const engine = new ScriptedEngine();
  const recover = (message: string, signature: string) =>
    recoverAddress({ message, signature: signature as `0x${string}` });
  const site = { domain: "exchange.example", chainId: 1, signatures: new WalletSignatures(recover) };
  const state = { isCrowded: false };
  const context = {
    engine,
    symbols: new Symbols(engine.instruments),
    wallets: new Wallets({ ...site, uri: "https://exchange.example" }),
    approvals: new Approvals({
      ...site,
      exchangeId: "1",
      isRequired: true,
      addressOf: () => alice.address.toLowerCase(),
    }),
    credentials: { hasAccount: () => false },
    limits: {
      payForAccount: () => {
        if (state.isCrowded) throw new ApiError("RATE_LIMITED");
      },
    },
    vault: { seal: () => "" },
    sessionTtlMs: 1000,
    log: { error: () => {} },
  } as unknown as Context;

  /** Sends the request, does `then` when it waits for the ledger or has ended, and resolves to a status or an error's code. */
  async function send(
    route: Route,
    body: object,
    then: (call: { done: boolean }) => void = () => {},
  ): Promise<unknown> {
    let said: unknown = "nothing";
    const call = {
      done: false,
      remoteAddress: () => "203.0.113.7",
      reply: (status: number) => {
        said = status;
      },
      fail: (thrown: unknown) => {
        said = codeOf(thrown);
      },
    };
    const request = { call, body, principal: { accountId: ACCOUNT } } as unknown as Parameters<Route["handle"]>[0];
    let isEnded = false;
    const handling = Promise.resolve(route.handle(request))
      .catch(call.fail)
      .finally(() => {
        isEnded = true;
      });
    while (!isEnded && engine.asked.length === 0) await new Promise((resolve) => setImmediate(resolve));
    then(call);
    await handling;
    return said;
  }
  return { engine, context, state, send };
}

const codeOf = (thrown: unknown): string => (thrown instanceof ApiError ? thrown.code : String(thrown));
const refuse = make(Refused, { code: "TOO_MANY_KEYS" });

type Exchange = ReturnType<typeof open>;

/** A signed request, the replies with which it succeeds, and the code that it gets when its signature is used up. */
const REQUESTS: Record<string, (exchange: Exchange) => Promise<[Route, object, number, () => void, string]>> = {
  "a login": async ({ context, engine }) => {
    const { message } = context.wallets.issue(alice.address, undefined, Date.now());
    const body = { message, signature: await alice.signMessage({ message }) };
    const succeed = () => void engine.answer(() => [make(SessionView, { accountId: ACCOUNT })]);
    return [loginRoute(context), body, 200, succeed, "CHALLENGE_NOT_FOUND"];
  },
  "a new key": async (exchange) => {
    const body = { label: "bot", permissions: ["TRADE"] as "TRADE"[] };
    const approval = await approve(exchange, keyLines(body));
    const succeed = () => void exchange.engine.answer(() => [make(Done)]);
    return [createKeyRoute(exchange.context), { ...body, approval }, 201, succeed, "APPROVAL_INVALID"];
  },
  "a new withdrawal address": async (exchange) => {
    const body = { address: alice.address, label: "mine" };
    const approval = await approve(exchange, addressLines(body));
    const entry = { address: alice.address, label: "mine", usableAt: 1 };
    const succeed = () =>
      void exchange.engine.answer(() => [make(WithdrawalAddressesView, { addresses: [entry] as never })]);
    return [addWithdrawalAddressRoute(exchange.context), { ...body, approval }, 201, succeed, "APPROVAL_INVALID"];
  },
};

async function approve({ context }: Exchange, lines: readonly string[]) {
  const asked = { accountId: ACCOUNT, lines, approval: undefined, remoteAddress: "" };
  const refusal = await context.approvals.check(asked).catch((thrown: ApiError) => thrown);
  const message = (refusal as ApiError).details?.message as string;
  return { message, signature: await alice.signMessage({ message }) };
}

for (const [name, prepare] of Object.entries(REQUESTS)) {
  test(`the signature of ${name} is used up when it succeeds, not when it was refused`, async () => {
    const exchange = open();
    const { engine, send } = exchange;
    const [route, body, status, succeed, usedUp] = await prepare(exchange);
    engine.full = true;
    assert.equal(await send(route, body), "OVERLOADED");
    engine.hasDiskRoom = false;
    assert.equal(await send(route, body), "STORAGE_FULL");
    Object.assign(engine, { full: false, hasDiskRoom: true });
    assert.equal(await send(route, body, () => engine.lose()), "UNAVAILABLE");
    const refused = () => void engine.answer(() => [refuse]);
    assert.equal(await send(route, body, refused), "TOO_MANY_KEYS");
    assert.equal(await send(route, body, succeed), status);
    assert.equal(await send(route, body), usedUp);
  });

  test(`the signature of ${name} stays used up while its outcome is unknown`, async () => {
    const exchange = open();
    const { engine, send } = exchange;
    const [route, body, status, succeed, usedUp] = await prepare(exchange);
    const whileItWaits = async () => {
      assert.equal(await send(route, body), usedUp);
    };
    let second: Promise<void> = Promise.resolve();
    const first = send(route, body, () => {
      const asked = engine.asked.splice(0);
      second = whileItWaits().then(() => {
        engine.asked.push(...asked);
        succeed();
      });
    });
    await first;
    await second;
    assert.equal(await send(route, body), usedUp, `the first got ${status}`);
  });
}

test("a login that was refused because its address opened too many accounts may be sent again", async () => {
  const exchange = open();
  const [route, body, status, succeed] = await (REQUESTS["a login"] as (typeof REQUESTS)[string])(exchange);
  exchange.state.isCrowded = true;
  assert.equal(await exchange.send(route, body), "RATE_LIMITED");
  exchange.state.isCrowded = false;
  assert.equal(await exchange.send(route, body, succeed), status);
});

test("the signature of a new key is unused again if it was refused after its client had gone", async () => {
  const exchange = open();
  const { engine, send } = exchange;
  const [route, body, status, succeed] = await (REQUESTS["a new key"] as (typeof REQUESTS)[string])(exchange);
  const leave = (call: { done: boolean }): void => {
    call.done = true;
    engine.answer(() => [refuse]);
  };
  assert.equal(await send(route, body, leave), "nothing");
  assert.equal(await send(route, body, succeed), status);
});
