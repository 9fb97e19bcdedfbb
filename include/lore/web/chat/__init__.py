"""Chat clients that speak the API of OpenAI."""
