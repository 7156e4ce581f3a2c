import { account, accountClient, accountFault, balance, equity, signOut, unrealizedPnl } from "../state/account.ts";
import { text } from "../text/catalogue.ts";
import { fixed, signed, tone, usd } from "../text/format.ts";
import { areKeysOpen } from "./api-keys.tsx";
import { isSigningIn, takeFromFaucet, tryIt } from "./sign-in.ts";
import { signInWith, wallets } from "./wallets.ts";
import { isWithdrawing } from "./withdraw.tsx";

/** Who is signed in, and the account's money. */
export function AccountPanel() {
  const signedIn = account.value;
  return (
    <section class="panel account" aria-label={text.account}>
      <header class="panel-head">
        <h2>{text.account}</h2>
        {signedIn !== null && (
          <span class="tag" title={signedIn.address}>
            {signedIn.kind === "DEMO" ? text.demo : text.wallet} {shortAddress(signedIn.address)}
          </span>
        )}
      </header>
      {signedIn === null ? <SignedOut /> : <Money />}
    </section>
  );
}

export const shortAddress = (address: string): string => `${address.slice(0, 6)}…${address.slice(-4)}`;

export function TryItButton() {
  return (
    <button type="button" class="accent" disabled={isSigningIn.value} onClick={() => void tryIt()}>
      {isSigningIn.value ? text.opening : text.tryIt}
    </button>
  );
}

function SignedOut() {
  return (
    <div class="signed-out">
      <p>{text.tryItHint}</p>
      <TryItButton />
      {wallets.value.length > 0 && <p>{text.orWallet}</p>}
      {wallets.value.map((wallet) => (
        <button type="button" class="wallet" disabled={isSigningIn.value} onClick={() => void signInWith(wallet)}>
          {wallet.icon !== "" && <img src={wallet.icon} alt="" width="18" height="18" />}
          {text.connect(wallet.name)}
        </button>
      ))}
      {accountFault.value !== null && (
        <p class="note bad" role="alert">
          {accountFault.value}
        </p>
      )}
    </div>
  );
}

function Money() {
  const now = balance.value;
  const maintenance = Number(now?.maintenanceMargin ?? 0);
  const worth = equity.value;
  const ratio = worth === null || worth <= 0 ? null : maintenance / worth;
  const pnl = unrealizedPnl.value;
  return (
    <>
      <dl class="pairs">
        <div class="main">
          <dt>{text.equity}</dt>
          <dd class="num">{usd(worth)} USDC</dd>
        </div>
        <div>
          <dt>{text.walletBalance}</dt>
          <dd class="num">{usd(now?.walletBalance)}</dd>
        </div>
        <div>
          <dt>{text.unrealizedPnl}</dt>
          <dd class={`num ${tone(pnl)}`}>{signed(pnl)}</dd>
        </div>
        <div>
          <dt>{text.available}</dt>
          <dd class="num">{usd(now?.availableBalance)}</dd>
        </div>
        <div>
          <dt>{text.initialMargin}</dt>
          <dd class="num">{usd(now?.initialMargin)}</dd>
        </div>
        <div>
          <dt>{text.maintenanceMargin}</dt>
          <dd class="num">{usd(now?.maintenanceMargin)}</dd>
        </div>
        <div>
          <dt>{text.marginRatio}</dt>
          <dd class="num">{ratio === null ? "–" : `${fixed(100 * ratio, 2)}%`}</dd>
        </div>
      </dl>
      <meter
        class="ratio"
        aria-label={text.marginRatio}
        min={0}
        max={1}
        low={0.5}
        high={0.8}
        optimum={0}
        value={Math.min(1, ratio ?? 0)}
      />
      <div class="account-actions">
        <button type="button" class="mini" onClick={() => void takeFromFaucet("10000")}>
          {text.faucet}
        </button>
        <button
          type="button"
          class="mini"
          onClick={() => {
            isWithdrawing.value = true;
          }}
        >
          {text.withdraw}
        </button>
        <button
          type="button"
          class="mini"
          onClick={() => {
            areKeysOpen.value = true;
          }}
        >
          {text.apiKeys}
        </button>
        <button
          type="button"
          class="mini"
          onClick={() => {
            void accountClient
              .peek()
              ?.logout()
              .catch(() => {});
            signOut();
          }}
        >
          {text.signOut}
        </button>
      </div>
    </>
  );
}
