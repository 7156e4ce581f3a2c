import { createHash } from "node:crypto";
import type { Engine } from "../actor/engine/engine.ts";
import { DEMO_DEPOSIT_QUANTA } from "../config.ts";
import { LEDGER } from "../core/base/enums.ts";
import type { Quanta, TimeMs } from "../core/base/units.ts";
import { Deposit, OpenSession } from "../core/protocol/commands.ts";
import { Refused, SessionView } from "../core/protocol/replies.ts";
import { hashToken, newToken } from "../wire/token.ts";
import { expectReply, messageAs, sendCommand } from "./request.ts";

/** An account of the sandbox itself. Nobody holds its wallet's key, so only a session gives access. */
export interface SandboxAccount {
  accountId: number;
  address: string;
  /** Bearer token of its session. */
  token: string;
}

/** Derives the address from the name: the same in every run. */
const sandboxAddress = (name: string): string =>
  `0x${createHash("sha256").update(`perpd sandbox: ${name}`).digest("hex").slice(0, 40)}`;

/** Opens a session, and the account of that name when there is none yet. */
export async function openAccount(
  engine: Engine,
  name: string,
  expiresAt: TimeMs,
  stopped: AbortSignal,
): Promise<SandboxAccount> {
  const address = sandboxAddress(name);
  const token = newToken();
  const command = { type: OpenSession.code, address, tokenHash: hashToken(token), expiresAt } as const;
  const accountId = await sendCommand(engine, LEDGER, command, stopped, (reply) => {
    return expectReply(SessionView, reply, `account of ${name}`).accountId;
  });
  return { accountId, address, token };
}

/**
 * Deposits from the faucet. A repeated reference credits nothing, also with another amount: the cap may have changed
 * since. Resolves with the refusal's code, or null.
 */
export function deposit(
  engine: Engine,
  accountId: number,
  amountQuanta: Quanta,
  reference: string,
  stopped: AbortSignal,
): Promise<string | null> {
  const command = { type: Deposit.code, accountId, amountQuanta, reference } as const;
  return sendCommand(engine, LEDGER, command, stopped, (reply) => {
    const code = messageAs(Refused, reply)?.code ?? null;
    return code === "REFERENCE_REUSED" ? null : code;
  });
}

/**
 * The demo account, whose token is printed at start. It is kept as long as the data folder, funded once with 100,000
 * USDC (or the faucet's cap), and gets a new token at each start.
 */
export async function openDemoAccount(
  engine: Engine,
  { expiresAt, faucetCapQuanta }: { expiresAt: TimeMs; faucetCapQuanta: Quanta },
): Promise<SandboxAccount> {
  const neverStopped = new AbortController().signal;
  const account = await openAccount(engine, "demo", expiresAt, neverStopped);
  const amountQuanta = Math.min(DEMO_DEPOSIT_QUANTA, faucetCapQuanta);
  const refusal = await deposit(engine, account.accountId, amountQuanta, "demo-funding-1", neverStopped);
  if (refusal !== null) throw new Error(`the demo account's deposit: ${refusal}`);
  return account;
}
