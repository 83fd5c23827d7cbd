// Shows openapi.json of this service by Swagger UI, which asks no other host for anything.
SwaggerUIBundle({
  url: "openapi.json", dom_id: "#interface", deepLinking: true, validatorUrl: null, defaultModelsExpandDepth: 0,
  docExpansion: "list", displayRequestDuration: false, tryItOutEnabled: false, persistAuthorization: false,
});
