/** `<gateway-payment>` in Vue's templates: `import "saleor-gateway-payment/vue"`. */
import type { DefineComponent } from "vue";
import type { GatewayPaymentAttributes, GatewayPaymentElement } from "./gateway-payment.js";

export * from "./gateway-payment.js";

type Camel<Name extends string> = Name extends `${infer First}-${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : Name;
// Vue compares what stands in a template by these names, whichever way it is written there.
type Props = {
  [Name in keyof GatewayPaymentAttributes as Camel<Name>]: GatewayPaymentAttributes[Name];
} & Partial<Pick<GatewayPaymentElement, "customer" | "customerToken">>;

declare module "vue" {
  interface GlobalComponents {
    "gateway-payment": DefineComponent<Props>;
  }
}
